/**
 * Moves the log between Postgres and Kafka while the service runs. Clients can write while the log is copied. Then the
 * move closes the log, copies its end, and opens the copy in its place (docs/operate/operations.md, "Moving the log").
 */
import type pg from 'pg';
import { closeToKafka, openToKafka, openToPostgres } from '../log/progress/closed.store.ts';
import { readProgress } from '../log/progress/progress.store.ts';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import type { Database } from '../storage/database/database.ts';
import { isAnotherReadModelUsed } from '../storage/database/held-locks.ts';
import { copyPartition, proveCopied, type CopyPlace } from '../log/copy-log.ts';
import type { RecordLog } from '../log/event-log.ts';
import { hashOf, proveIdentity, type RememberedLog } from '../log/identity.ts';
import { allPartitions, partitionCount } from '../log/partition.ts';
import {
  closePostgresLog,
  noteFirstPlace,
  noteLogPlace,
  openPostgresLog,
  prepareMoves,
  readLogPlace,
  type LogKind,
} from '../log/postgres/log-place.ts';

/** Something that an operator must change prevents the move. The message names it. */
export class CannotMove extends Error {
  override readonly name = 'CannotMove';
}

/**
 * The move copies the log in rounds. Each round copies the records that clients appended during the round before. If a
 * round takes at most `shortRound`, the move closes the log: writes wait for the next round, which takes about as long.
 * After `roundsMax` rounds, a round of at most `lastRoundMax` is short enough; otherwise the move gives up. Durations
 * are in milliseconds.
 */
const shortRound = 1000;
const roundsMax = 20;
const lastRoundMax = 10_000;

/**
 * Decides what to do after a round of the copy: copy another round, close the log, or give up.
 * @param round the number of the round; the first is 1
 * @param took how long the round took, in milliseconds
 */
export function afterRound(round: number, took: number): 'again' | 'close' | 'give up' {
  if (took <= shortRound) return 'close';
  if (round < roundsMax) return 'again';
  return took <= lastRoundMax ? 'close' : 'give up';
}

/** How many partitions are copied at a time. Each needs a few megabytes of memory. */
const copiedAtOnce = 4;

export interface MoveOptions {
  readonly database: Pick<Database, 'pool' | 'schema' | 'withSession'>;
  /** Opens both logs, the one in Postgres and the one in Kafka. The caller closes them. */
  readonly openLogs: () => Promise<Readonly<Record<LogKind, RecordLog>>>;
  readonly to: LogKind;
  readonly signal: AbortSignal;
  /** `done` and `of` count records. */
  readonly onProgress: (done: number, of: number) => void;
}

export interface Moved {
  readonly records: number;
  /** How long writes waited, in milliseconds. */
  readonly pausedMs: number;
}

/**
 * Moves the log. After any failure it can be called again, and continues with what it has copied. If it fails before it
 * opens the copy, it opens the log again in its old place. Rejects with CannotMove, with WrongLog, and with the
 * signal's reason.
 */
export async function moveLog(options: MoveOptions): Promise<Moved> {
  return options.database.withSession(async (client) => {
    const {
      rows: [lock],
    } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [advisoryLocks.moveLog]);
    if (!lock!.taken) throw new CannotMove('another process moves the log already');
    try {
      return await moveAlone(options, client);
    } finally {
      // Release the locks now, so that a command that follows can take them. If the connection is broken, Postgres has
      // released them.
      await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
    }
  });
}

/** Opens and closes the log on the connection that holds the lock: a process that lost the lock can do neither. */
async function moveAlone(
  { database: { pool, schema }, openLogs, to, signal, onProgress }: MoveOptions,
  client: pg.ClientBase,
): Promise<Moved> {
  await prepareMoves(pool, partitionCount);
  if ((await readLogPlace(pool)) === to) throw new CannotMove(`the log is in ${nameOf(to)} already`);
  // Before anything needs the brokers: writes go on even if the brokers cannot be reached.
  await reopen(client, to);
  const from: LogKind = to === 'kafka' ? 'postgres' : 'kafka';
  const { [from]: source, [to]: target } = await openLogs();
  await proveSource(source, pool);
  await noteFirstPlace(client, from);
  const copy = new LogCopy(source, target, onProgress);
  await copy.proveBegun(signal);
  await copy.approachEnd(signal);
  signal.throwIfAborted();
  // A log in Kafka is closed through the read model, so a process with another read model would still accept appends to
  // it.
  if (to === 'postgres' && (await isAnotherReadModelUsed(client, schema))) {
    throw new CannotMove(
      'processes of another version use another read model: upgrade or stop them, then run the command again; it continues with what it has copied',
    );
  }
  await forbidReplays(client);
  const began = performance.now();
  try {
    await within(client, () => close(client, to));
    // Copies the records that were appended before the log was closed. Records that a paused process appends to Kafka
    // later have no effect.
    await copy.copyToEnd();
    await copy.prove(await readProgress(pool));
    await within(client, () => open(client, to));
  } catch (error) {
    // If Postgres is away too, the log stays closed until the command runs again.
    const failed = await reopen(client, to).then(
      () => null,
      (also: unknown) => also,
    );
    if (failed === null) throw error;
    throw new AggregateError(
      [error, failed],
      'the log was not moved and is still closed to writes: run the command again',
      { cause: error },
    );
  }
  return { records: copy.records, pausedMs: performance.now() - began };
}

/**
 * Forbids replays until the connection ends. A replay that took over meanwhile would replace the progress that keeps
 * the log closed.
 */
async function forbidReplays(client: pg.ClientBase): Promise<void> {
  const {
    rows: [lock],
  } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    advisoryLocks.replaceReadModel,
  ]);
  if (!lock!.taken)
    throw new CannotMove(
      'a replay is running: wait for its end or stop it, then run the command again; it continues with what it has copied',
    );
}

/**
 * Checks that the read model was built from this log, and that no partition has halted. Rejects with WrongLog or
 * CannotMove.
 */
async function proveSource(source: RecordLog, pool: pg.Pool): Promise<void> {
  for (const [partition, progress] of (await readProgress(pool)).entries()) {
    if (progress.halted !== null) throw new CannotMove(`partition ${partition} has halted: see \`tablog log status\``);
    await proveIdentity(source, partition, progress);
  }
}

/** The copying of all partitions. */
class LogCopy {
  readonly #source: RecordLog;
  readonly #target: RecordLog;
  readonly #onProgress: MoveOptions['onProgress'];
  readonly #partitions: readonly number[];
  /** The end of each partition of the source, as last read, and how far each partition is copied. */
  #ends: readonly bigint[] = [];
  readonly #places: CopyPlace[] = [];
  #done = 0;

  constructor(source: RecordLog, target: RecordLog, onProgress: MoveOptions['onProgress']) {
    this.#source = source;
    this.#target = target;
    this.#partitions = allPartitions(source.partitions);
    this.#onProgress = onProgress;
  }

  /** How many records the log had when its ends were last read. */
  get records(): number {
    return Number(this.#ends.reduce((all, one) => all + one, 0n));
  }

  /** Checks that the records in the target are copies of the source's, before `copyToEnd` appends to them. */
  async proveBegun(signal: AbortSignal): Promise<void> {
    await this.#readEnds();
    await eachOf(this.#partitions, async (partition) => {
      this.#places[partition] = await proveCopied(
        this.#source,
        this.#target,
        partition,
        this.#ends[partition]!,
        signal,
      );
      this.#done += Number(this.#places[partition].offset);
    });
  }

  /** Copies up to the present end of the source. */
  async copyToEnd(signal?: AbortSignal): Promise<void> {
    await this.#readEnds();
    await eachOf(this.#partitions, async (partition) => {
      this.#places[partition] = await copyPartition({
        source: this.#source,
        target: this.#target,
        partition,
        from: this.#places[partition]!,
        to: this.#ends[partition]!,
        signal,
        onCopied: (records) => {
          this.#done += records;
          this.#onProgress(this.#done, this.records);
        },
      });
    });
  }

  /** Copies round after round until little is left. Rejects with CannotMove if clients write too fast for that. */
  async approachEnd(signal: AbortSignal): Promise<void> {
    for (let round = 1; ; round += 1) {
      const began = performance.now();
      await this.copyToEnd(signal);
      const took = performance.now() - began;
      const next = afterRound(round, took);
      if (next === 'close') return;
      if (next === 'give up')
        throw new CannotMove(
          'clients write as fast as the log is copied: run the command again when they write less; it continues with what it has copied',
        );
    }
  }

  /** Checks that the copy ends where the source does, and that the read model fits it. */
  async prove(progress: readonly RememberedLog[]): Promise<void> {
    await eachOf(this.#partitions, async (partition) => {
      const end = this.#ends[partition]!;
      const copied = (await this.#target.bounds(partition)).end;
      if (copied !== end)
        throw new CannotMove(
          `partition ${partition} of the copy ends at ${copied}, not at ${end}: another program writes to it`,
        );
      if (
        end > 0n &&
        (await lastHash(this.#source, partition, end)) !== (await lastHash(this.#target, partition, end))
      ) {
        throw new CannotMove(`partition ${partition} of the copy ends with another record`);
      }
      await proveIdentity(this.#target, partition, progress[partition]!);
    });
  }

  async #readEnds(): Promise<void> {
    this.#ends = await Promise.all(
      this.#partitions.map(async (partition) => (await this.#source.bounds(partition)).end),
    );
  }
}

/**
 * Opens the log in its old place, unless the move is complete: an earlier run may have been killed while it was closed.
 */
async function reopen(client: pg.ClientBase, to: LogKind): Promise<void> {
  await within(client, async () => {
    if ((await readLogPlace(client)) === to) return;
    if (to === 'kafka') await openPostgresLog(client);
    else await openToKafka(client);
  });
}

/** Runs `work` in a transaction on this connection. */
async function within(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    // If the connection failed, Postgres has rolled back already. Report the first error.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function close(client: pg.ClientBase, to: LogKind): Promise<void> {
  // Closing waits for the appends under way, and later appends wait for closing.
  await client.query(`set local lock_timeout = '10s'`);
  await closePostgresLog(client);
  if (to === 'postgres') await closeToKafka(client);
}

async function open(client: pg.ClientBase, to: LogKind): Promise<void> {
  if (to === 'kafka') await openToKafka(client);
  else {
    await openToPostgres(client);
    await openPostgresLog(client);
  }
  await noteLogPlace(client, to);
}

async function lastHash(log: RecordLog, partition: number, end: bigint): Promise<string | undefined> {
  for await (const records of log.read(partition, end - 1n, end)) return hashOf(records[0]!).toString('hex');
  return undefined;
}

/**
 * Runs the work for all partitions, `copiedAtOnce` at a time. After a failure it starts no further work, and rejects
 * with that error.
 */
async function eachOf(partitions: readonly number[], work: (partition: number) => Promise<void>): Promise<void> {
  const left = [...partitions];
  const results = await Promise.allSettled(
    Array.from({ length: copiedAtOnce }, async () => {
      for (let partition = left.shift(); partition !== undefined; partition = left.shift()) {
        await work(partition).catch((error: unknown) => {
          left.length = 0;
          throw error;
        });
      }
    }),
  );
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}

function nameOf(log: LogKind): string {
  return log === 'kafka' ? 'Kafka' : 'Postgres';
}
