/**
 * Moves the log between Postgres and Kafka, beside the processes that serve. They write on while the log is copied.
 * Then it is closed, its end is copied, and the copy is opened in its place (docs/operate/operations.md, "Moving the
 * log").
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

/** The log cannot be moved as it is. */
export class CannotMove extends Error {
  override readonly name = 'CannotMove';
}

/**
 * The log is copied in rounds. Each round copies the records that clients appended during the round before. After a
 * round of at most `shortRound` the log is closed, because the next round, for which writes wait, is about as short.
 * After `roundsMax` rounds, one of at most `lastRoundMax` is short enough; otherwise the move gives up. In
 * milliseconds.
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

/** How many partitions are copied at a time: each takes a few megabytes. */
const copiedAtOnce = 4;

export interface MoveOptions {
  readonly database: Pick<Database, 'pool' | 'schema' | 'withSession'>;
  /** Opens the log in Postgres and that in Kafka. The caller closes them. */
  readonly openLogs: () => Promise<Readonly<Record<LogKind, RecordLog>>>;
  readonly to: LogKind;
  readonly signal: AbortSignal;
  /** `done` and `of` count records. */
  readonly onProgress: (done: number, of: number) => void;
}

export interface Moved {
  readonly records: number;
  /** How long nothing could be written, in milliseconds. */
  readonly pausedMs: number;
}

/**
 * Moves the log. Can be repeated after whatever ended it: it goes on with what was copied. If it fails before the copy
 * is opened, the log is open again where it was. Rejects with CannotMove, with WrongLog, and with the signal's reason.
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
      // At once, so that a command that follows has the locks; with a broken connection they end.
      await client.query('select pg_advisory_unlock_all()').catch(() => undefined);
    }
  });
}

/** Opens and closes the log through the connection that holds the lock: if that is lost, so is the right to do so. */
async function moveAlone(
  { database: { pool, schema }, openLogs, to, signal, onProgress }: MoveOptions,
  client: pg.ClientBase,
): Promise<Moved> {
  await prepareMoves(pool, partitionCount);
  if ((await readLogPlace(pool)) === to) throw new CannotMove(`the log is in ${nameOf(to)} already`);
  // First, so that writes go on even if the brokers cannot be reached any more.
  await reopen(client, to);
  const from: LogKind = to === 'kafka' ? 'postgres' : 'kafka';
  const { [from]: source, [to]: target } = await openLogs();
  await proveSource(source, pool);
  await noteFirstPlace(client, from);
  const copy = new LogCopy(source, target, onProgress);
  await copy.proveBegun(signal);
  await copy.approachEnd(signal);
  signal.throwIfAborted();
  // The log in Kafka is closed by the read model: another one would go on with what is appended there.
  if (to === 'postgres' && (await isAnotherReadModelUsed(client, schema))) {
    throw new CannotMove(
      'processes of another version use another read model: upgrade or stop them, and run the command again; it goes on from here',
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
    // If Postgres is away too, the next run opens it, or goes on.
    const failed = await reopen(client, to).then(
      () => null,
      (also: unknown) => also,
    );
    if (failed === null) throw error;
    throw new AggregateError(
      [error, failed],
      'the log could not be moved, and is still closed: run the command again',
      { cause: error },
    );
  }
  return { records: copy.records, pausedMs: performance.now() - began };
}

/**
 * A replay that took over while the log is closed would replace the progress with which it is closed. Forbidden until
 * the connection ends.
 */
async function forbidReplays(client: pg.ClientBase): Promise<void> {
  const {
    rows: [lock],
  } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    advisoryLocks.replaceReadModel,
  ]);
  if (!lock!.taken)
    throw new CannotMove(
      'a replay is under way: wait for it, or end it, and run the command again; it goes on from here',
    );
}

/** Proves that the log is the one that the read model was built from, and can be projected. */
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
  /** Where the source ended when that was last asked, and how far each partition is copied. */
  #ends: readonly bigint[] = [];
  readonly #places: CopyPlace[] = [];
  #done = 0;

  constructor(source: RecordLog, target: RecordLog, onProgress: MoveOptions['onProgress']) {
    this.#source = source;
    this.#target = target;
    this.#partitions = allPartitions(source.partitions);
    this.#onProgress = onProgress;
  }

  /** How many records the log had when its end was last asked. */
  get records(): number {
    return Number(this.#ends.reduce((all, one) => all + one, 0n));
  }

  /** Proves that what the target holds was copied from the source, before `copyToEnd` goes on behind it. */
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

  /** Copies to where the source ends now. */
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

  /** Copies until little is left to copy. Rejects with CannotMove if that does not become little. */
  async approachEnd(signal: AbortSignal): Promise<void> {
    for (let round = 1; ; round += 1) {
      const began = performance.now();
      await this.copyToEnd(signal);
      const took = performance.now() - began;
      const next = afterRound(round, took);
      if (next === 'close') return;
      if (next === 'give up')
        throw new CannotMove(
          'clients write as fast as the log is copied: run the command again when they write less; it goes on from here',
        );
    }
  }

  /** Proves that the copy ends where the log does, and is the log that the read model was built from. */
  async prove(progress: readonly RememberedLog[]): Promise<void> {
    await eachOf(this.#partitions, async (partition) => {
      const end = this.#ends[partition]!;
      const copied = (await this.#target.bounds(partition)).end;
      if (copied !== end)
        throw new CannotMove(
          `partition ${partition} of the copy ends at ${copied}, not at ${end}: something else writes to it`,
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

/** Opens the log where it is, unless the move was complete: an earlier run was killed while the log was closed. */
async function reopen(client: pg.ClientBase, to: LogKind): Promise<void> {
  await within(client, async () => {
    if ((await readLogPlace(client)) === to) return;
    if (to === 'kafka') await openPostgresLog(client);
    else await openToKafka(client);
  });
}

/** A transaction on this connection. */
async function within(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    // If the connection failed there is nothing left to roll back, and the first error is the one to report.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

async function close(client: pg.ClientBase, to: LogKind): Promise<void> {
  // Waits for the appends under way, and keeps others waiting meanwhile.
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

/** Runs the work for all partitions, some at a time. After a failure no more is begun. */
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
