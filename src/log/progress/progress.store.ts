/** Reads and writes the progress of partitions. */
import type pg from 'pg';
import type { Connection } from '../../storage/database/history.ts';
import { parseHeldTeams, type HeldTeams } from '../quarantine/held-teams.ts';

/** The progress of a partition, as stored. */
export interface Progress {
  /** The next offset to project, and the time of the record before it. */
  readonly next: bigint;
  readonly time: number;
  /** The version of an event is this base plus its offset. */
  readonly base: bigint;
  /** A fencing token: each takeover raises it. */
  readonly epoch: bigint;
  /** The log that the read model was built from; null if nothing has been projected yet. */
  readonly logId: string | null;
  /** SHA-256 of the record before `next`. */
  readonly lastHash: Uint8Array | null;
  /** Why the partition has halted; null while it is projected. */
  readonly halted: string | null;
  /** Whether it has halted because its log contradicts the read model. */
  readonly contradicted: boolean;
  /** Whether the partition was ever projected to the end of its log. */
  readonly caughtUp: boolean;
  /** The teams in quarantine. */
  readonly held: HeldTeams;
}

const columns =
  'next, time, base, epoch, log_id as "logId", last_hash as "lastHash", halted, contradicted, caught_up as "caughtUp", held';

/** The progress of all partitions, in order. Rejects if Postgres is away. */
export async function readProgress(pool: pg.Pool): Promise<Progress[]> {
  return (await readProgressNow(pool)).progress;
}

/** As `readProgress`, through any connection, with the time of the server in milliseconds since 1970. */
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
 * For each partition of the read model in this schema: the next offset, the version after the last projected event, and
 * whether the log contradicts the read model.
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
 * Raises an epoch at random. So no epoch is issued twice, although Postgres may lose the commit of a takeover with a
 * timeline or with the end of its disk. There is room for millions of takeovers. An odd epoch belongs to an owner. An
 * even one belongs to nobody, because a process is proving the log.
 */
const nextEpoch = `epoch + 2 + floor(random() * ${2 ** 40})::int8`;
const ownedEpoch = `((${nextEpoch}) | 1)`;
const fencedEpoch = `((${nextEpoch}) & -2::int8)`;

/**
 * Whether a process has fenced the partition off (`fenceOff`) and no process has taken it over since. `epoch`: its
 * present one.
 */
export function isFenced(epoch: bigint): boolean {
  return epoch % 2n === 0n;
}

/**
 * Takes a partition over: fences off its former owner. A halted partition can be projected again, unless its log
 * contradicts the read model.
 */
export async function takeOverPartition(pool: pg.Pool, partition: number): Promise<Progress> {
  const { rows } = await pool.query<ProgressRow>(
    `update progress set halted = case when contradicted then halted end, epoch = ${ownedEpoch} where partition = $1 returning ${columns}`,
    [partition],
  );
  return toProgress(rows[0]!);
}

/**
 * Ensures that the epoch of a partition is above `seen`, which was read earlier: raises it unless another process has
 * raised it since. So the owner of that time can no longer store anything that it had read by then, and must take the
 * partition over again. If Postgres lost commits, epochs below `seen` may return; they do not count as raised. Resolves
 * to the progress.
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
  // Between the two statements, Postgres may have lost the commit that raised the epoch.
  return progress.epoch > seen ? progress : fenceOff(pool, partition, seen);
}

/**
 * Records that the log of a partition contradicts the read model, and how. From then on no process can store anything
 * for the partition. An earlier contradiction stays.
 */
export async function noteContradicted(pool: pg.Pool, partition: number, reason: string): Promise<void> {
  const values = [partition, reason];
  await pool.query(
    'update progress set halted = $2, contradicted = true where partition = $1 and not contradicted',
    values,
  );
}

/** Lets partitions be projected again after their logs were proved to match the read model. */
export async function clearContradictions(pool: pg.Pool, partitions: readonly number[]): Promise<void> {
  await pool.query(
    'update progress set halted = null, contradicted = false where partition = any($1) and contradicted',
    [partitions],
  );
}

/** Records why a partition has halted, unless its epoch has changed. Resolves to whether it was recorded. */
export async function noteHalted(pool: pg.Pool, partition: number, epoch: bigint, reason: string): Promise<boolean> {
  const values = [partition, String(epoch), reason];
  const { rowCount } = await pool.query(
    'update progress set halted = case when contradicted then halted else $3 end where partition = $1 and epoch = $2',
    values,
  );
  return rowCount === 1;
}

/**
 * With the log in Postgres, records why the event at `offset` could not be projected. Unlike a halt, this does not
 * prevent other processes from projecting it.
 */
export async function noteFailure(pool: pg.Pool, partition: number, offset: bigint, reason: string): Promise<void> {
  await pool.query('update progress set failed_at = next, failure = $3 where partition = $1 and next = $2', [
    partition,
    String(offset),
    reason,
  ]);
}

/** Why the next event could not be projected (`noteFailure`), by partition. Rejects if Postgres is away. */
export async function readFailures(pool: pg.Pool): Promise<ReadonlyMap<number, string>> {
  const { rows } = await pool.query<{ partition: number; failure: string }>(
    'select partition, failure from progress where failed_at = next',
  );
  return new Map(rows.map(({ partition, failure }) => [partition, failure]));
}

/** Records that a partition was projected to the end of its log, unless another process has taken it over. */
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
