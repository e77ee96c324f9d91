/** Prints decisions as one line each, for tables of cases. */
import type { States } from '../../projections/models.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Stash } from '../../projections/stashes/stash.ts';
import type { Extent, Table } from '../../projections/tables/table.ts';
import type { Team, UsageChange } from '../../projections/teams/team.ts';
import type { Upload } from '../../projections/uploads/upload.ts';
import { presentersOf } from '../../src/language/values/presentation.ts';
import { currentType } from '../../src/language/values/table-schema.ts';
import type { SchemaColumn } from '../../src/language/values/table-schema.ts';
import { here, type Change } from './decisions.ts';

/**
 * A decision as one line: the refusal, or `ok` and the ETag; then its changes, in order. Of a table only unusual
 * properties are shown: a version that is not the event's, and a schema or widening that is. Counts are left out,
 * because quotas.test.ts tests them.
 */
export function shown({ outcome, changes }: Decision<Change>, at: LogPlace = here): string {
  const others = changes.filter((change) => change.kind !== 'usage');
  return [shownOutcome(outcome), ...others.map((change) => shownChange(change, at))].join(' | ');
}

export function shownOutcome(outcome: Decision['outcome']): string {
  if (outcome.status === 'refused') return `${outcome.refusal.type}: ${outcome.refusal.message}`;
  return outcome.etag === undefined ? 'ok' : `ok ${outcome.etag}`;
}

/** The team's rows, then the bytes of its files and its open uploads, if any. */
function shownTeam({ rows, uploadBytes, openUploads }: Team): string {
  return `team ${rows}${uploadBytes === 0 ? '' : ` ${uploadBytes} bytes`}${openUploads === 0 ? '' : ` ${openUploads} open`}`;
}

function shownChange(change: Exclude<Change, UsageChange>, at: LogPlace): string {
  switch (change.kind) {
    case 'team':
      return shownTeam(change.team);
    case 'token':
      return `token ${change.token.id}`;
    case 'table':
      return `table ${shownTable(change.table, at)}`;
    case 'appLinks':
      return `apps ${change.appIds.join(' ')}`;
    case 'schema':
      return ['schema', ...change.schema.columns.map(shownColumn)].join(' ');
    case 'extent':
      return `extent ${shownExtent(change.extent)}`;
    case 'generation':
      return `generation ${change.generation.version} ended by ${change.generation.ended}`;
    case 'tailRows': {
      const ids = change.ids?.map((id, at) => (id === null ? '' : `${id} `) + change.bodies[at]!) ?? change.bodies;
      return [`rows ${change.extent.version}[${change.first}]`, ...ids].join(' ');
    }
    case 'keys':
      return `keys ${[...change.freed.map((text) => `-${text}`), ...change.taken.map(([text]) => `+${text}`)].join(' ')}`;
    case 'keyRuns':
      return `keys of ${change.runs.parts.length} parts`;
    case 'preparedKeys':
      return `keys of index ${change.since}: ${[...change.freed.map((hash) => `-${hash}`), ...change.moved.map(({ hash }) => `=${hash}`), ...change.taken.map(({ hash }) => `+${hash}`)].join(' ')}`.trimEnd();
    case 'endedKey':
      return `key of ${change.since} ended`;
    case 'row':
      return `row ${change.extent.version}[${change.index}] ${change.body ?? 'deleted'}`;
    case 'bodyBlock':
      return `block ${change.block.number} of ${change.block.bodyId}`;
    case 'openBody':
      return `body ${change.body.bodyId} ${change.isOpen ? 'opened' : 'closed'}`;
    case 'upload':
      return `upload ${shownUpload(change.upload)}`;
    case 'stash':
      return `stash ${shownStash(change.stash)}`;
    case 'chunk': {
      const { serial, rows, blocks } = change.chunk;
      const words = [`chunk ${serial}`, `${rows}`, ...(blocks.length === 1 ? [] : [`in ${blocks.length}`])];
      return [...words, ...(change.replaces === null ? [] : ['replaces'])].join(' ');
    }
  }
}

function shownUpload({ id, file, unclaimedSince, removedAt }: Upload): string {
  const state = file === null ? ['created'] : [`${file.name} ${file.size} bytes`];
  if (unclaimedSince !== null) state.push(`unclaimed since ${unclaimedSince}`);
  else if (file !== null && removedAt === null) state.push('claimed');
  if (removedAt !== null) state.push(`removed at ${removedAt}`);
  return `${id}: ${state.join(', ')}`;
}

function shownStash({ stashId, created, expiresAt, chunks, rows, words, endedAt }: Stash): string {
  const ended = endedAt === null ? `until ${expiresAt}` : `ended ${endedAt}`;
  return `${stashId}@${created} ${chunks} chunks ${rows} rows${words === 0 ? '' : ` ${words} words`} ${ended}`;
}

function shownColumn(column: SchemaColumn): string {
  return `${column.id}:${currentType(column)}${column.displayName === undefined ? '' : `(${column.displayName})`}`;
}

/** The table's rows, then the schema or widening if new, and the version of its open tail, if any. */
function shownTable(
  { name, rows, version, schemaVersion, widened, tail, retainsIds, deleted }: Table,
  at: LogPlace,
): string {
  const words = [
    `${rows}`,
    ...(version === at.version ? [] : [`since ${version}`]),
    ...(schemaVersion === at.version ? ['new schema'] : []),
    ...(widened === at.version ? ['widened'] : []),
    ...(name === 'Table' || name === 'Made' ? [] : [`named ${name}`]),
    ...(tail === null ? [] : ['open']),
    ...(deleted ? ['deleted'] : []),
    ...(retainsIds ? ['retains'] : []),
  ];
  return words.join(' ');
}

function shownExtent({
  version,
  ordinal,
  rows,
  presented,
  wrap,
  retained,
  changed,
  deleted,
  schemaVersion,
}: Extent): string {
  const words = [
    `${version}${ordinal === 0 ? '' : `.${ordinal}`} ${rows}`,
    `by ${schemaVersion}`,
    ...(presented === null ? [] : ['plain']),
    ...(wrap ? ['wrap'] : []),
    ...(retained === null ? [] : ['retains']),
    ...(changed ? ['changed'] : []),
    ...(deleted === 0 ? [] : [`${deleted} deleted`]),
  ];
  return words.join(' ');
}

/** `ok 100 +1 ~2 =3 -4`: the ETag, and how many were added, patched, left unchanged and deleted. */
export function shownCounts(outcome: Outcome): string {
  if (outcome.status === 'refused') return `${outcome.refusal.type}: ${outcome.refusal.message}`;
  const { added, patched, unchanged, deleted } = outcome.result.operations!;
  return `ok ${outcome.etag} +${added} ~${patched} =${unchanged} -${deleted}`;
}

/** The rows of a state as they read now, without deleted ones, in the order of their extents. */
export function presentedRows({ tables }: States): string[] {
  const table = tables.table('table')!;
  const presenterFor = presentersOf(tables.schema(table), table.widened);
  return [...tables.allExtents()].flatMap(({ key, rows }) =>
    Array.from({ length: rows }, (_, index) => tables.findRow(key, index)!)
      .filter(({ body }) => body !== null)
      .map(({ form, body }) => presenterFor(form)(body!)),
  );
}

/** The ranges of row IDs in the outcome: `100.0[2]` or, of several rows, `100.0[2..4]`. */
export function idsOf(outcome: Outcome): string {
  const ranges = outcome.status === 'applied' ? (outcome.result.rows ?? []) : [];
  return ranges
    .map(({ version, ordinal, first, count }) => {
      return `${version}.${ordinal}[${first}${count === 1 ? '' : `..${first + count - 1}`}]`;
    })
    .join(' ');
}
