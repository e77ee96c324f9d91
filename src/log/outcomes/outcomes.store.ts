/** Outcomes in Postgres. They are looked up by command, and stored with the batch that decided them. */
import type { BoundStatement } from '../../storage/database/combine.ts';
import type { Statement, Tx } from '../../storage/database/pipelined-client.ts';
import type { RowOf } from '../../storage/database/stored-table.ts';
import type { AppliedResult, Outcome, RowRange } from '../../language/events/outcome.ts';
import { parseHeldTeams, type HeldTeams } from '../quarantine/held-teams.ts';
import { storedOutcomes, type OutcomeEntity } from './outcome.entity.ts';
import type { KnownOutcome, RecordedOutcome } from './recorded-outcome.ts';

/** An outcome as it is stored. */
type OutcomeRow = Omit<RowOf<typeof OutcomeEntity>, 'replacedTime'>;

/**
 * The outcome of each wanted command, by one index look-up per command. With `command_id = any (...)`, Postgres reads
 * all outcomes of the partition as long as its statistics are those of an almost empty table. That is so while a read
 * model is filled.
 */
const outcomesOfWanted = `unnest($2::uuid[]) as wanted(id)
    join lateral (select * from outcomes where partition = $1 and command_id = wanted.id limit 1) outcomes on true`;

const selectOutcomes: Statement<OutcomeRow> = {
  name: 'select_outcomes',
  text: `select ${storedOutcomes.columns()} from ${outcomesOfWanted}`,
};

/** The outcomes of these commands. Commands without an outcome are left out. */
export async function findOutcomes(
  tx: Tx,
  partition: number,
  commandIds: readonly string[],
): Promise<RecordedOutcome[]> {
  const { rows } = await tx.query(selectOutcomes, [partition, commandIds]);
  return rows.map(toRecordedOutcome);
}

function toRecordedOutcome({
  commandId,
  logOffset: offset,
  time,
  etag,
  detail,
  requestDigest,
}: OutcomeRow): RecordedOutcome {
  return { commandId, offset, time, outcome: decodeOutcome(etag, detail, requestDigest) };
}

/** The progress joined with one outcome; if there is none, all outcome columns are null. */
type ProgressAndOutcome = { readonly next: bigint; readonly held: string; readonly replacedTime: number | null } & (
  | OutcomeRow
  | { readonly commandId: null }
);

const selectProgressAndOutcomes: Statement<ProgressAndOutcome> = {
  name: 'select_progress_and_outcomes',
  text: `select progress.next, held, replaced_time::float8 as "replacedTime", ${storedOutcomes.columns()}
    from progress left join (${outcomesOfWanted}) on true
    where progress.partition = $1`,
};

/**
 * The progress of a partition, the teams held there, and the outcomes of these commands as of that progress, in one
 * snapshot.
 */
export async function findProgressAndOutcomes(
  tx: Tx,
  partition: number,
  commandIds: readonly string[],
): Promise<{ readonly next: bigint; readonly held: HeldTeams; readonly outcomes: readonly KnownOutcome[] }> {
  const { rows } = await tx.query(selectProgressAndOutcomes, [partition, commandIds]);
  const outcomes = rows.flatMap((row) => {
    return row.commandId === null ? [] : [{ ...toRecordedOutcome(row), replacedTime: row.replacedTime }];
  });
  return { next: rows[0]!.next, held: parseHeldTeams(rows[0]!.held), outcomes };
}

const insertOutcomes = storedOutcomes.insert('insert_outcomes');

const upsertOutcomes = storedOutcomes.insert(
  'upsert_outcomes',
  `on conflict (partition, command_id) do update
  set ${storedOutcomes.excluded(['logOffset', 'time', 'etag', 'detail', 'requestDigest'])}, replaced_time = outcomes.time`,
);

/** Whether storing outcomes failed because a command already has one. */
export function isDuplicateOutcome(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23505' && constraint === 'outcomes_pkey';
}

/**
 * If a command already has an outcome, that one must have expired. Then the new outcome replaces it (`replace`), or the
 * statement fails (`fail`: earlier outcomes were not looked up).
 */
export function storeOutcomes(
  partition: number,
  outcomes: readonly RecordedOutcome[],
  duplicates: 'replace' | 'fail',
): BoundStatement {
  const statement = duplicates === 'replace' ? upsertOutcomes : insertOutcomes;
  return statement.bind(outcomes.map((recorded) => outcomeRow(partition, recorded)));
}

export function outcomeRow(
  partition: number,
  { commandId, offset: logOffset, time, outcome }: RecordedOutcome,
): OutcomeRow {
  const { etag = null, requestDigest = null } = outcome;
  return { partition, commandId, logOffset, time, etag, detail: encodeDetail(outcome), requestDigest };
}

/**
 * Version, ordinal, first, count; the table whose rows have retained row IDs, or null; the number of extents, if there
 * are several.
 */
type StoredRange = readonly [
  version: string,
  ordinal: number,
  first: number,
  count: number,
  retainedIn?: string | null,
  extents?: number,
];

/** A result with packed row ranges. */
type StoredResult = Omit<AppliedResult, 'rows'> & { readonly rows?: readonly StoredRange[] };

/** The `detail` of an outcome as it is stored. */
export function encodeDetail(outcome: Outcome): string | null {
  if (outcome.status === 'refused') return JSON.stringify({ refusal: outcome.refusal });
  const { rows, ...rest } = outcome.result;
  const stored: StoredResult = rows ? { ...rest, rows: rows.map(encodeRange) } : rest;
  return Object.keys(stored).length === 0 ? null : JSON.stringify({ result: stored });
}

/** An outcome from its columns. */
export function decodeOutcome(etag: bigint | null, detail: string | null, requestDigest: string | null): Outcome {
  const common = { etag: etag ?? undefined, requestDigest: requestDigest ?? undefined };
  const { refusal, result } = detail === null ? { refusal: undefined, result: {} } : JSON.parse(detail);
  if (refusal) return { status: 'refused', refusal, ...common };
  return { status: 'applied', result: decodeResult(result), ...common };
}

function decodeResult({ rows, ...rest }: StoredResult): AppliedResult {
  if (!rows) return rest;
  return { ...rest, rows: rows.map(decodeRange) };
}

function encodeRange({ version, ordinal, first, count, retainedIn, extents }: RowRange): StoredRange {
  const range = [String(version), ordinal, first, count] as const;
  if (extents !== undefined) return [...range, retainedIn ?? null, extents];
  return retainedIn === undefined ? range : [...range, retainedIn];
}

function decodeRange([version, ordinal, first, count, retainedIn, extents]: StoredRange): RowRange {
  return {
    version: BigInt(version),
    ordinal,
    first,
    count,
    ...(extents === undefined ? {} : { extents }),
    ...(retainedIn ? { retainedIn } : {}),
  };
}
