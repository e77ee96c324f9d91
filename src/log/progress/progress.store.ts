/** Reads and writes the progress of partitions. */
import type pg from 'pg';
import type { Connection } from '../../storage/database/history.ts';
import { parseHeldTeams, type HeldTeams } from '../quarantine/held-teams.ts';

/** The progress of a partition, as stored. */
export interface Progress {
  /** The next offset to be projected, and the time of the record before it. */
  readonly next: bigint;
  readonly time: number;
  /** The version of an event is this base plus its offset. */
  readonly base: bigint;
  /** A fencing token: raised at each takeover. */
  readonly epoch: bigint;
  /** The log that the read model was built from; null when nothing has been projected yet. */
  readonly logId: string | null;
  /** SHA-256 of the record before `next`. */
  readonly lastHash: Uint8Array | null;
  /** Why the partition has halted; null while it is projected. */
  readonly halted: string | null;
  /** Whether it has halted because its log contradicts the read model. */
  readonly contradicted: boolean;
  /** Whether it was ever projected to the end of its log. */
  readonly caughtUp: boolean;
  /** The teams in quarantine. */
  readonly held: HeldTeams;
}

const columns =
  'next, time, base, epoch, log_id as "logId", last_hash as "lastHash", halted, contradicted, caught_up as "caughtUp", held';

/** The progress of all partitions, in their order. Rejects when Postgres is away. */
export async function readProgress(pool: pg.Pool): Promise<Progress[]> {
  return (await readProgressNow(pool)).progress;
}

/** The same through any connection, with the time of the server in milliseconds since 1970. */
export async function readProgressNow(
  connection: Connection,
): Promise<{ readonly progress: Progress[]; readonly serverTime: number }> {
  const { rows } = await connection.query<ProgressRow & { serverTime: string }>({
    name: 'read_progress',
    text: `select ${columns}, (extract(epoch from clock_timestamp()) * 1000)::int8 as "serverTime" from progress order by partition`,
  });
  return { progress: rows.map(toProgress), serverTime: Number(rows[0]!.serverTime) };
}

/**
 * For each partition of the read model in this schema, the next offset, the version behind the last event that was
 * projected, and whether its log contradicts it.
 */
export async function selectVersions(
  client: pg.ClientBase,
  schema: string,
): Promise<(Pick<Progress, 'next' | 'contradicted'> & { readonly version: bigint })[]> {
  const { rows } = await client.query<{ next: string; version: string; contradicted: boolean }>(
    `select next, base + next as version, contradicted from ${schema}.progress order by partition`,
  );
  return rows.map(({ next, version, contradicted }) => ({
    next: BigInt(next),
    version: BigInt(version),
    contradicted,
  }));
}

/** The progress of one partition. */
export async function readProgressOf(pool: pg.Pool, partition: number): Promise<Progress> {
  const { rows } = await pool.query<ProgressRow>({
    name: 'read_progress_of',
    text: `select ${columns} from progress where partition = $1`,
    values: [partition],
  });
  return toProgress(rows[0]!);
}

/**
 * Raises an epoch at random, so that none is given out twice although Postgres may lose the commit of a takeover, with
 * a timeline or with the end of its disk. There is room for millions of takeovers. An odd epoch belongs to an owner; an
 * even one to nobody, because a process proves the log.
 */
const nextEpoch = `epoch + 2 + floor(random() * ${2 ** 40})::int8`;
const ownedEpoch = `((${nextEpoch}) | 1)`;
const fencedEpoch = `((${nextEpoch}) & -2::int8)`;

/**
 * Whether this is the epoch of a partition that a process has fenced off (`fenceOff`), and that nobody has taken over
 * since.
 */
export function isFenced(epoch: bigint): boolean {
  return epoch % 2n === 0n;
}

/**
 * Takes a partition over: fences off its former owner, and lets it be projected again unless its log contradicts the
 * read model.
 */
export async function takeOver(pool: pg.Pool, partition: number): Promise<Progress> {
  const { rows } = await pool.query<ProgressRow>(
    `update progress set halted = case when contradicted then halted end, epoch = ${ownedEpoch} where partition = $1 returning ${columns}`,
    [partition],
  );
  return toProgress(rows[0]!);
}

/**
 * Sees to it that the epoch of a partition is above `seen`, which was read before: raises it unless somebody else has
 * since. So whoever owned the partition at that time can no longer store anything that it had read by then, and has to
 * take it over anew. Epochs below `seen` come back if Postgres loses commits, and count as no rise. Resolves to the
 * progress.
 */
export async function fenceOff(pool: pg.Pool, partition: number, seen: bigint): Promise<Progress> {
  const {
    rows: [fenced],
  } = await pool.query<ProgressRow>(
    `update progress set epoch = ${fencedEpoch} where partition = $1 and epoch <= $2 returning ${columns}`,
    [partition, String(seen)],
  );
  if (fenced !== undefined) return toProgress(fenced);
  const progress = await readProgressOf(pool, partition);
  // Between the two statements Postgres may have lost the commit that raised it.
  return progress.epoch > seen ? progress : fenceOff(pool, partition, seen);
}

/**
 * Notes that the log of a partition contradicts the read model, and how. From then on nobody can store anything for the
 * partition. An earlier contradiction stays.
 */
export async function noteContradicted(pool: pg.Pool, partition: number, reason: string): Promise<void> {
  const values = [partition, reason];
  await pool.query(
    'update progress set halted = $2, contradicted = true where partition = $1 and not contradicted',
    values,
  );
}

/** Lets partitions be projected again whose logs have been proved to match the read model. */
export async function clearContradictions(pool: pg.Pool, partitions: readonly number[]): Promise<void> {
  await pool.query(
    'update progress set halted = null, contradicted = false where partition = any($1) and contradicted',
    [partitions],
  );
}

/** Notes why a partition has halted, unless its epoch was raised meanwhile. Resolves to whether it was not. */
export async function noteHalted(pool: pg.Pool, partition: number, epoch: bigint, reason: string): Promise<boolean> {
  const values = [partition, String(epoch), reason];
  const { rowCount } = await pool.query(
    'update progress set halted = case when contradicted then halted else $3 end where partition = $1 and epoch = $2',
    values,
  );
  return rowCount === 1;
}

/**
 * Notes why the event at `offset` could not be projected, with the log in Postgres. Unlike a halt, that keeps no other
 * process from projecting it.
 */
export async function noteFailure(pool: pg.Pool, partition: number, offset: bigint, reason: string): Promise<void> {
  await pool.query('update progress set failed_at = next, failure = $3 where partition = $1 and next = $2', [
    partition,
    String(offset),
    reason,
  ]);
}

/** By partition, why the next event could not be projected (`noteFailure`). Rejects when Postgres is away. */
export async function readFailures(pool: pg.Pool): Promise<ReadonlyMap<number, string>> {
  const { rows } = await pool.query<{ partition: number; failure: string }>(
    'select partition, failure from progress where failed_at = next',
  );
  return new Map(rows.map(({ partition, failure }) => [partition, failure]));
}

/** Notes that a partition was projected to the end of its log, unless somebody else has taken it over. */
export async function noteCaughtUp(pool: pg.Pool, partition: number, epoch: bigint): Promise<void> {
  const values = [partition, String(epoch)];
  await pool.query(
    'update progress set caught_up = true where partition = $1 and epoch = $2 and not caught_up',
    values,
  );
}

/** The driver returns 64-bit integers as strings. */
type ProgressRow = Pick<Progress, 'logId' | 'lastHash' | 'halted' | 'contradicted' | 'caughtUp'> &
  Readonly<Record<'next' | 'time' | 'base' | 'epoch' | 'held', string>>;

function toProgress({
  next,
  time,
  base,
  epoch,
  logId,
  lastHash,
  halted,
  contradicted,
  caughtUp,
  held,
}: ProgressRow): Progress {
  return {
    next: BigInt(next),
    time: Number(time),
    base: BigInt(base),
    epoch: BigInt(epoch),
    logId,
    lastHash,
    halted,
    contradicted,
    caughtUp,
    held: parseHeldTeams(held),
  };
}
