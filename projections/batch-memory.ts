/**
 * What one batch leaves behind for the next of its partition: the tables it dealt with, with their teams, schemas and
 * links, and all else that it changed, because the next batch is decided while this one is still being stored and may
 * not see it. It is right only as long as nobody else moves the progress, which is found out when the next batch is
 * stored: then it is forgotten and the batch is decided anew.
 */
import type { RowAddress } from '../src/events/event.ts';
import type { TableSchema } from '../src/schema/table-schema.ts';
import type { BatchState } from './batch-state.ts';
import type { Link, Table, Team } from './decision.ts';
import { LinkMap } from './link-map.ts';
import type { RecordedOutcome } from './outcomes/outcomes.store.ts';

/** How much of a partition is remembered; past it all is forgotten, because that is simple and rare. */
const tablesMax = 1000;
const linksMax = 10_000;

/** What is remembered of all batches so far. */
interface Known {
  readonly tables: Map<string, { readonly table: Table; readonly schema: TableSchema }>;
  readonly teams: Map<string, Team>;
  readonly links: LinkMap;
}

export class BatchMemory {
  #last: BatchState | null;
  #outcomes: ReadonlyMap<string, RecordedOutcome>;
  readonly #known: Known;

  /** `before` is what that batch itself remembered. It is handed on, and must not be used any more. */
  constructor(last: BatchState, outcomes: ReadonlyMap<string, RecordedOutcome>, before: BatchMemory | null) {
    this.#last = last;
    this.#outcomes = outcomes;
    this.#known = before?.hasRoom()
      ? before.#known
      : { tables: new Map(), teams: new Map(), links: new LinkMap() };
    last.keepIn(this);
  }

  /** The batch that may not be visible yet, with all that it knows; null when it is. */
  get last(): BatchState | null {
    return this.#last;
  }

  /** To be called when the last batch is visible to all that will be fetched. */
  forgetLast(): void {
    this.#last = null;
    this.#outcomes = new Map();
  }

  /** Whether the next batch may add to this. */
  hasRoom(): boolean {
    const { tables, teams, links } = this.#known;
    return tables.size < tablesMax && teams.size < tablesMax && links.size < linksMax;
  }

  putTable(table: Table, schema: TableSchema): void {
    this.#known.tables.set(table.id, { table, schema });
  }

  putTeam(team: Team): void {
    this.#known.teams.set(team.id, team);
  }

  putLink(link: Link): void {
    this.#known.links.set(link);
  }

  team(teamId: string): Team | null {
    return this.#known.teams.get(teamId) ?? null;
  }

  link(key: bigint): Link | null {
    return this.#known.links.find(key);
  }

  /** The link of the rows that this version added to a table under this ordinal. */
  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null {
    return this.#known.links.linkOf(tableId, row);
  }

  /** A table with its team and its schema; null if not all of that is remembered. */
  table(tableId: string): { readonly table: Table; readonly team: Team; readonly schema: TableSchema } | null {
    const known = this.#known.tables.get(tableId);
    const team = known && this.team(known.table.teamId);
    return known && team ? { ...known, team } : null;
  }

  /** What a command came to in the last batch. */
  outcome(commandId: string): RecordedOutcome | null {
    return this.#outcomes.get(commandId) ?? null;
  }
}
