/** Reads and writes the progress of partitions. */
import type pg from 'pg';

/** The progress of a partition, as stored. */
export interface Progress {
  /** The next offset to be projected, and the time of the record before it. */
  readonly next: bigint;
  readonly time: number;
  /** A fencing token: raised at each takeover. */
  readonly epoch: bigint;
  /** The log that the read model was built from; null when nothing has been projected yet. */
  readonly logId: string | null;
  /** SHA-256 of the record before `next`. */
  readonly lastHash: Uint8Array | null;
  /** Why the partition has halted; null while it is projected. */
  readonly halted: string | null;
  /** Whether it was ever projected to the end of its log. */
  readonly caughtUp: boolean;
}

const columns = 'next, time, epoch, log_id as "logId", last_hash as "lastHash", halted, caught_up as "caughtUp"';

/** The progress of all partitions, in their order. Rejects when Postgres is away. */
export async function readProgress(pool: pg.Pool): Promise<Progress[]> {
  const { rows } = await pool.query<ProgressRow>({ name: 'read_progress', text: `select ${columns} from progress order by partition` });
  return rows.map(toProgress);
}

/** The progress of one partition. */
export async function readProgressOf(pool: pg.Pool, partition: number): Promise<Progress> {
  const { rows } = await pool.query<ProgressRow>({
    name: 'read_progress_of', text: `select ${columns} from progress where partition = $1`, values: [partition],
  });
  return toProgress(rows[0]!);
}

/** Raises the epoch of a partition, which fences off its former owner: that one can no longer store anything for it. */
export async function takeOver(pool: pg.Pool, partition: number): Promise<Progress> {
  const { rows } = await pool.query<ProgressRow>(
    `update progress set epoch = epoch + 1, halted = null where partition = $1 returning ${columns}`, [partition],
  );
  return toProgress(rows[0]!);
}

/** Notes why a partition has halted, unless somebody else has taken it over. */
export async function noteHalted(pool: pg.Pool, partition: number, epoch: bigint, reason: string): Promise<void> {
  const values = [partition, String(epoch), reason];
  await pool.query('update progress set halted = $3 where partition = $1 and epoch = $2', values);
}

/** Notes that a partition was projected to the end of its log, unless somebody else has taken it over. */
export async function noteCaughtUp(pool: pg.Pool, partition: number, epoch: bigint): Promise<void> {
  const values = [partition, String(epoch)];
  await pool.query('update progress set caught_up = true where partition = $1 and epoch = $2 and not caught_up', values);
}

/** The driver returns 64-bit integers as strings. */
type ProgressRow = Pick<Progress, 'logId' | 'lastHash' | 'halted' | 'caughtUp'> & Readonly<Record<'next' | 'time' | 'epoch', string>>;

function toProgress({ next, time, epoch, ...rest }: ProgressRow): Progress {
  return { next: BigInt(next), time: Number(time), epoch: BigInt(epoch), ...rest };
}
