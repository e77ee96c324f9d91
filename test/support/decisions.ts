/**
 * The vocabulary of decision tests: a state with one team and one table, and the decision of a request (requests.ts) in
 * that state, which shown-decisions.ts prints as one line. Everything is plain values; nothing is stored.
 */
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import { ModelSet } from '../../src/log/model-set.ts';
import { models, type States } from '../../projections/models.ts';
import type { BodyBlockChange, OpenBodyChange } from '../../projections/segments/body-block.ts';
import { defaultColumnsMax, StashContentBuilder } from '../../projections/stashes/stash-content.ts';
import type { ChunkChange, StashChange } from '../../projections/stashes/stash.ts';
import { compareSerials } from '../../projections/stashes/stash-order.ts';
import { declared, keyOf } from '../../projections/tables/keys/table-key.ts';
import { changedForm, bodyFormOf } from '../../projections/tables/read/stored-body.ts';
import type { Extent, TableChange } from '../../projections/tables/table.ts';
import type { Team, TokenChange } from '../../projections/teams/team.ts';
import type { UploadChange } from '../../projections/uploads/upload.ts';
import type { Event } from '../../src/language/events/event.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import { keyReaderOf } from '../../src/language/values/row-key.ts';
import { noPlanLimits, noUsage, type PlanLimits, type Usage } from '../../src/language/events/quota.ts';
import { eventOf, type Request } from './requests.ts';
import { createdAt, schemaFrom } from './schema-text.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
import { Decider } from '../../src/log/batch/decider.ts';
import { UndoJournal } from '../../src/log/batch/undo-journal.ts';

/** The place in the log where events are decided, by default. */
export const here: LogPlace = { partition: 3, offset: 90n, version: 100n, gaps: [], time: 1_000_000_000 };

/**
 * The versions of the table's rows: those of a block, then those of the open tail. The table was created at version 10.
 */
const blockAt = 20n;
const tailAt = 30n;

export const blockRow = (index: number): RowAddress => ({ version: blockAt, ordinal: 0, index });
export const tailRow = (index: number): RowAddress => ({ version: tailAt, ordinal: 0, index });

export interface Given {
  /** The table's owner; `nobody`: there is no table. The team itself always exists. */
  readonly owner?: 'team' | 'another' | 'nobody';
  readonly suspended?: boolean;
  /** The plan's limit of rows, and the number of rows in other tables of the team. */
  readonly rowsMax?: number | null;
  readonly otherRows?: number;
  /** The bytes of the team's files, and the plan's limit of bytes. */
  readonly uploadBytes?: number;
  readonly uploadBytesMax?: number | null;
  /** The number of open uploads, besides those of the test. */
  readonly openUploads?: number;
  /** The team's use of other quotas, and the limits of its plan. */
  readonly team?: Partial<Usage & PlanLimits>;
  /** `a:number b:string`; older types come first, each with the version that replaced it: `a:number<40:string`. */
  readonly schema?: string;
  readonly widened?: bigint;
  /** Bodies in a block, as received, and bodies in the tail, as presented. */
  readonly block?: readonly string[];
  readonly tail?: readonly string[];
  /** Whether scalars of the block were wrapped into array columns. */
  readonly wrap?: boolean;
  /** Properties of the tail that differ from the default. */
  readonly tailExtent?: Partial<Extent>;
  /** The columns of the key, whose index began with the table; the keys of the tail are loaded. */
  readonly key?: readonly string[];
}

/** Makes a state with these properties. */
export function given({
  owner = 'team',
  suspended = false,
  rowsMax = null,
  otherRows = 0,
  uploadBytes = 0,
  uploadBytesMax = null,
  openUploads = 0,
  team: otherQuotas = {},
  schema = 'a:number b:string',
  widened = 0n,
  block = [],
  tail,
  wrap = false,
  tailExtent = {},
  key: keyColumns,
}: Given = {}): States {
  let key = 1000n;
  const states = openStates(() => key++);
  const { tables, teams } = states;
  const extent = {
    tableId: 'table',
    ordinal: 0,
    generation: createdAt,
    schemaVersion: createdAt,
    wrap: false,
    rule: 2 as const,
    presented: createdAt,
    cells: false,
    retained: null,
    first: 0,
    bytes: 0,
    changed: false,
    deleted: 0,
  };
  const blockExtent: Extent = {
    ...extent,
    wrap,
    presented: null,
    key: 1n,
    version: blockAt,
    segment: 2n,
    rows: block.length,
  };
  const openTail: Extent = {
    ...extent,
    key: 3n,
    version: tailAt,
    segment: 4n,
    rows: tail?.length ?? 0,
    bytes: tail?.join('').length ?? 0,
    ...tailExtent,
  };
  block.forEach((body, index) =>
    tables.putRow({
      extent: blockExtent,
      index,
      version: blockAt,
      body,
      form: bodyFormOf(blockExtent),
      isChange: false,
    }),
  );
  tail?.forEach((body, index) =>
    tables.putRow({ extent: openTail, index, version: tailAt, body, form: changedForm(tailAt), isChange: false }),
  );
  if (tail) tables.putExtent(openTail);

  const rows = block.length + (tail ? openTail.rows : 0);
  const team: Team = {
    id: 'team',
    partition: 3,
    name: 'Team',
    created: 1n,
    suspended,
    ...noUsage,
    ...noPlanLimits,
    rows: rows + otherRows,
    rowsMax,
    uploadBytes,
    uploadBytesMax,
    openUploads,
    ...otherQuotas,
  };
  teams.put(team);
  teams.put({ ...team, id: 'another' });
  if (owner !== 'nobody') {
    tables.put({
      id: 'table',
      teamId: owner,
      name: 'Table',
      created: createdAt,
      createdAt: 5,
      version: 50n,
      generation: createdAt,
      schemaVersion: createdAt,
      widened,
      rows,
      rowBytesMax: 10,
      tail: tail ? openTail.key : null,
      deleted: false,
      retainsIds: false,
      ...declared(keyColumns ?? null, createdAt),
    });
    tables.putSchema({ tableId: 'table', version: createdAt, schema: schemaFrom(schema) });
    tail?.forEach((body, index) => putKey(tables, openTail, index, body));
  }
  return states;
}

/** Loads the key of a row of the tail, if it has one. */
function putKey(tables: States['tables'], extent: Extent, index: number, body: string): void {
  const table = tables.table('table');
  const key = table && keyOf(table, tables.schema(table));
  const rowKey = key && keyReaderOf(key.columns)(body);
  if (rowKey) tables.keys.put(key, rowKey.text, { extent: extent.key, index, rowId: formatRowId(tailRow(index)) });
}

const set = new ModelSet(models);
const journals = new WeakMap<States, UndoJournal>();

/** A change by any decision. */
export type Change =
  | TableChange
  | UploadChange
  | StashChange
  | ChunkChange
  | BodyBlockChange
  | OpenBodyChange
  | TokenChange;

/** The empty states of a batch. */
export function openStates(newKey: () => bigint = () => 1n): States {
  const journal = new UndoJournal();
  const states = set.open(newKey, journal) as unknown as States;
  journals.set(states, journal);
  return states;
}

/** Decides an event without applying the changes. */
export function decide(states: States, event: Event, at: LogPlace): Decision<Change> {
  return set.decide({ ...states }, event, at) as Decision<Change>;
}

/** Applies changes to the states, as later events see them. */
export function change(states: States, changes: readonly Change[]): void {
  for (const each of changes) set.apply({ ...states }, each);
}

/** Decides a request at a place in the log, and applies its changes. */
export function when(states: States, request: Request, at: LogPlace = here): Decision<Change> {
  request.before?.forEach(({ profile, ids, age, teamId = 'team' }, number) => {
    const segment = 901n + BigInt(number);
    states.segments.putBodyBlock({ bodyId: 'body', number, teamId, segment, profile, ids, time: at.time - age });
  });
  states.segments.put('segment', 900n);
  if ('rows' in request.data && request.data.rows.kind === 'stash')
    gatherStash(states, request.data.teamId, request.data.rows.stashId);
  const decision = decide(states, eventOf(request), at);
  change(states, decision.changes);
  return decision;
}

/**
 * Decides a request that consists of several, and applies its changes, or none. `load`: called with a part that looks
 * up what is not loaded.
 */
export function whenInOrder(
  states: States,
  request: Request,
  at: LogPlace = here,
  load: (part: Event) => Promise<void> = async () => undefined,
): Promise<Outcome> {
  const decider = new Decider(set, { ...states }, journals.get(states)!);
  return decider.decide(eventOf(request), at, new TimeSlices(), load);
}

/** The requests of which a request consists. */
export function partsOf(request: Request): readonly Event[] {
  return set.partsOf(eventOf(request));
}

/** Loads the content of a stash whose chunks were decided in this state, as an import needs it. */
function gatherStash({ stashes }: States, teamId: string, stashId: string): void {
  const stash = stashes.stash(teamId, stashId);
  if (stash === null) return;
  const content = new StashContentBuilder(defaultColumnsMax);
  const chunks = stashes
    .newChunksOf(stash.key)
    .toSorted((a, b) => compareSerials(a.serial, b.serial, stash.words === 0));
  for (const { serial, blocks } of chunks) for (const each of blocks) content.add(serial, each);
  stashes.putContent(stash.key, content.build());
}
