/** Outcomes in Postgres: looked up by command, stored with the batch that decided them. */
import type { BoundStatement } from '../../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../../src/database/pipelined-client.ts';
import { RowsStatement, type ParameterColumn } from '../../../src/database/rows-statement.ts';
import type { AppliedResult, Outcome, RowRange } from '../../../src/events/outcome.ts';
import type { KnownOutcome, RecordedOutcome } from './recorded-outcome.ts';

const selectOutcomes: Statement = {
  name: 'select_outcomes',
  text: `select command_id, log_offset, time, etag, detail, request_digest
    from outcomes where partition = $1 and command_id = any($2::uuid[])`,
};

/** What these commands have come to, as far as it is known. */
export async function findOutcomes(
  tx: Tx,
  partition: number,
  commandIds: readonly string[],
): Promise<RecordedOutcome[]> {
  const { rows } = await tx.query(selectOutcomes, [partition, commandIds]);
  return rows.map(toRecordedOutcome);
}

function toRecordedOutcome([commandId, offset, time, etag, detail, requestDigest]: ResultRow): RecordedOutcome {
  return { commandId, offset, time: Number(time), outcome: decodeOutcome(etag, detail, requestDigest) };
}

const selectProgressAndOutcomes: Statement = {
  name: 'select_progress_and_outcomes',
  text: `select progress.next, replaced_time, command_id, log_offset, outcomes.time, etag, detail, request_digest
    from progress left join outcomes on outcomes.partition = progress.partition and command_id = any($2::uuid[])
    where progress.partition = $1`,
};

/** How far a partition is projected, and what these commands have come to by then. */
export async function findProgressAndOutcomes(
  tx: Tx,
  partition: number,
  commandIds: readonly string[],
): Promise<{ readonly next: bigint; readonly outcomes: readonly KnownOutcome[] }> {
  const { rows } = await tx.query(selectProgressAndOutcomes, [partition, commandIds]);
  const outcomes = rows.filter(([, , commandId]) => commandId !== null).map(([, replacedTime, ...outcome]) => {
    return { ...toRecordedOutcome(outcome), replacedTime: replacedTime === null ? null : Number(replacedTime) };
  });
  return { next: rows[0]![0] as bigint, outcomes };
}

type OutcomeOfPartition = RecordedOutcome & { readonly partition: number };

const outcomeColumns: readonly ParameterColumn<OutcomeOfPartition>[] = [
  ['int2', (recorded) => recorded.partition], ['uuid', (recorded) => recorded.commandId],
  ['int8', (recorded) => recorded.offset], ['int8', (recorded) => recorded.time],
  ['int8', (recorded) => recorded.outcome.etag ?? null], ['text', (recorded) => encodeDetail(recorded.outcome)],
  ['text', (recorded) => recorded.outcome.requestDigest ?? null],
];

const insertText = (rows: string): string =>
  `insert into outcomes (partition, command_id, log_offset, time, etag, detail, request_digest)
    select * from ${rows} as given`;

const insertOutcomes = new RowsStatement('insert_outcomes', outcomeColumns, insertText);

const upsertOutcomes = new RowsStatement('upsert_outcomes', outcomeColumns, (rows) => `${insertText(rows)}
    on conflict (partition, command_id) do update set log_offset = excluded.log_offset, time = excluded.time,
      etag = excluded.etag, detail = excluded.detail, request_digest = excluded.request_digest, replaced_time = outcomes.time`);

/** Whether storing outcomes failed because a command has one already. */
export function isDuplicateOutcome(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return code === '23505' && constraint === 'outcomes_pkey';
}

/**
 * A command's ID may be there already only when its time is over: then the newer outcome takes its place (`replace`), or,
 * where nobody looked, the statement fails.
 */
export function storeOutcomes(
  partition: number,
  outcomes: readonly RecordedOutcome[],
  duplicates: 'replace' | 'fail',
): BoundStatement {
  const statement = duplicates === 'replace' ? upsertOutcomes : insertOutcomes;
  return statement.bind(outcomes.map((recorded) => ({ ...recorded, partition })));
}

/** Version, ordinal, first, count; the table where rows have kept identities, or null; how many extents, where they are several. */
type StoredRange = readonly [version: string, ordinal: number, first: number, count: number, keeps?: string | null, extents?: number];

interface StoredResult {
  readonly tableId?: string;
  readonly rows?: readonly StoredRange[];
  readonly linkedAppIds?: readonly string[];
}

function encodeDetail(outcome: Outcome): string | null {
  if (outcome.status === 'refused') return JSON.stringify({ refusal: outcome.refusal });
  const { rows, ...rest } = outcome.result;
  const stored: StoredResult = rows ? { ...rest, rows: rows.map(encodeRange) } : rest;
  return Object.keys(stored).length === 0 ? null : JSON.stringify({ result: stored });
}

function decodeOutcome(etag: bigint | null, detail: string | null, requestDigest: string | null): Outcome {
  const common = { etag: etag ?? undefined, requestDigest: requestDigest ?? undefined };
  const { refusal, result } = detail === null ? { refusal: undefined, result: {} } : JSON.parse(detail);
  if (refusal) return { status: 'refused', refusal, ...common };
  return { status: 'applied', result: decodeResult(result), ...common };
}

function decodeResult({ rows, ...rest }: StoredResult): AppliedResult {
  if (!rows) return rest;
  return { ...rest, rows: rows.map(decodeRange) };
}

function encodeRange({ version, ordinal, first, count, keeps, extents }: RowRange): StoredRange {
  const range = [String(version), ordinal, first, count] as const;
  if (extents !== undefined) return [...range, keeps ?? null, extents];
  return keeps === undefined ? range : [...range, keeps];
}

function decodeRange([version, ordinal, first, count, keeps, extents]: StoredRange): RowRange {
  return {
    version: BigInt(version), ordinal, first, count, ...(extents === undefined ? {} : { extents }), ...(keeps ? { keeps } : {}),
  };
}
