/** Checks that a log is the one that a read model was built from. */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeEvent, encodeEvent } from '../language/events/event-codec.ts';
import type { LogReader, LogRecord, RecordLog } from './event-log.ts';
import { allPartitions } from './partition.ts';

/** The log is not the one that the read model was built from, or parts of it are missing. */
export class WrongLog extends Error {
  override readonly name: string = 'WrongLog';
}

/**
 * The log is the one that the read model was built from, but has lost records since. It may get others in their place.
 */
export class RecordsLost extends WrongLog {
  override readonly name = 'RecordsLost';

  constructor(partition: number, problem: string) {
    super(
      `partition ${partition}: ${problem}; restore the log and run \`tablog log resume\`, or give up what it lacks with \`tablog replay\``,
    );
  }
}

/** What a read model remembers of the log it was built from. */
export interface RememberedLog {
  /** The next offset to be read. */
  readonly next: bigint;
  /** The ID of the log; null when nothing has been read yet. */
  readonly logId: string | null;
  /** SHA-256 of the record before `next`. */
  readonly lastHash: Uint8Array | null;
}

/** The SHA-256 of a record, by which the read model knows the last one that was projected. */
export function hashOf({ bytes }: Pick<LogRecord, 'bytes'>): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** The error for a log that does not match the read model, with what to do about it. */
function wrongLog(partition: number, problem: string): WrongLog {
  return new WrongLog(
    `partition ${partition}: ${problem}; if this is the right log, rebuild the read model with ` +
      '`tablog replay`; else restore the log, or name the right one',
  );
}

/** The error for a log that ends before the place up to which it was projected. */
export function shortLog(partition: number, end: bigint, next: bigint): RecordsLost {
  return new RecordsLost(partition, `the log ends at ${end}, the read model is at ${next}: it was cut, or made anew`);
}

/** The error for a log with another record where the last one was projected. */
export function changedLog(partition: number, next: bigint): RecordsLost {
  return new RecordsLost(partition, `the record before offset ${next} is another one than was read`);
}

/** The genesis event, first in every partition of a log. */
export function encodeGenesis(logId: string): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'GenerationStarted', logId, base: 0n }).bytes;
}

/**
 * The ID that a log got at its creation, from the first record of the partition. Rejects with WrongLog when it has
 * none.
 */
export async function readLogId(log: Pick<LogReader, 'read'>, partition: number): Promise<string> {
  for await (const [first] of log.read(partition, 0n, 1n)) {
    const { data } = decodeEvent(first!.bytes);
    if (data.type === 'GenerationStarted') return data.logId;
  }
  throw new WrongLog(
    `partition ${partition} does not begin with the event that names its log: it is no log of Tablog, or was made anew beside ` +
      'running processes, which wrote to it first; then stop all of them, make it anew once more, and try again',
  );
}

/**
 * Names the log in each partition that is empty, where no process begins it: a log that has lost a partition goes on
 * under its ID, and one that has lost all gets a new ID.
 */
export async function nameEmptyPartitions(log: RecordLog): Promise<void> {
  const partitions = allPartitions(log.partitions);
  const ends = await Promise.all(partitions.map(async (partition) => (await log.bounds(partition)).end));
  const named = ends.findIndex((end) => end > 0n);
  const logId = named === -1 ? randomUUID() : await readLogId(log, named);
  for (const partition of partitions) {
    if (ends[partition] === 0n) await log.appendRecord(partition, encodeGenesis(logId));
  }
}

/**
 * Checks that the read model was built from this partition. Rejects with WrongLog, whose message says how to recover.
 */
export async function proveIdentity(
  log: Pick<LogReader, 'read' | 'bounds'>,
  partition: number,
  { next, logId, lastHash }: RememberedLog,
): Promise<void> {
  const { start, end } = await log.bounds(partition);
  if (start > 0n) {
    throw new WrongLog(
      `partition ${partition}: the log begins at offset ${start}: the events before it were deleted; restore them`,
    );
  }
  if (logId === null) return;
  if (end === 0n) throw wrongLog(partition, `the log is empty, the read model is at ${next}`);
  const present = await readLogId(log, partition);
  if (present !== logId) throw wrongLog(partition, `the log is ${present}, not ${logId}`);
  if (next > end) throw shortLog(partition, end, next);
  for await (const [last] of log.read(partition, next - 1n, next)) {
    if (!lastHash || !hashOf(last!).equals(lastHash)) throw changedLog(partition, next);
  }
}

/** How long to wait before a loss of records is looked at again, in milliseconds. */
export const confirmDelay = 1500;

/** Another broker than the one to be asked leads a partition by now, as far as this process knows. */
export class OtherLeader extends Error {
  override readonly name = 'OtherLeader';

  constructor(partition: number) {
    super(`another broker leads partition ${partition} by now`);
  }
}

/** A log whose partitions are led by brokers. */
export interface LedLog extends Pick<LogReader, 'read' | 'bounds'> {
  /** The broker that is asked about a partition; undefined if none leads it. */
  leaderOf(partition: number): string | undefined;
  /** Asks who leads a partition until another broker names the same one. Resolves to that leader. */
  findLeaderAnew(partition: number): Promise<string>;
  /**
   * The log as this broker has it: it rejects with OtherLeader rather than ask another one. Undefined: as whoever leads
   * has it.
   */
  ledBy(leader: string | undefined): Pick<LogReader, 'read' | 'bounds'>;
}

/**
 * The same for a log in Kafka. Resolves to the broker that gave the proof. A leader that was deposed, and does not know
 * it yet, answers with what it had. So records count as lost only if they are still missing after a while, where
 * whoever leads by then is asked. One broker gives all answers of a proof: this process may take one for the leader,
 * then another, and then the first again.
 */
export async function proveIdentityTwice(
  log: LedLog,
  partition: number,
  remembered: RememberedLog,
): Promise<string | undefined> {
  const proveBy = async (leader: string | undefined): Promise<string | undefined> => {
    await proveIdentity(log.ledBy(leader), partition, remembered);
    return leader;
  };
  try {
    return await proveBy(log.leaderOf(partition)).catch(async (error: unknown) => {
      if (!(error instanceof RecordsLost)) throw error;
      await sleep(confirmDelay);
      return proveBy(await log.findLeaderAnew(partition));
    });
  } catch (error) {
    if (error instanceof OtherLeader) return proveIdentityTwice(log, partition, remembered);
    throw error;
  }
}
