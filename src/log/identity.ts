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
 * The log is the one that the read model was built from, but it has lost records since. It may get others in their
 * place.
 */
export class RecordsLost extends WrongLog {
  override readonly name = 'RecordsLost';

  constructor(partition: number, problem: string) {
    super(
      `partition ${partition}: ${problem}; restore the log and run \`tablog log resume\`, or run \`tablog replay\` to give up the lost records`,
    );
  }
}

/** The read model's record of the log from which it was built. */
export interface RememberedLog {
  /** The next offset to read. */
  readonly next: bigint;
  /** The ID of the log; null if nothing has been read yet. */
  readonly logId: string | null;
  /** SHA-256 of the record before `next`. */
  readonly lastHash: Uint8Array | null;
}

/** The SHA-256 of a record. The read model stores it to recognize the last record that was projected. */
export function hashOf({ bytes }: Pick<LogRecord, 'bytes'>): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** The error for a log that does not match the read model, with what to do about it. */
function wrongLog(partition: number, problem: string): WrongLog {
  return new WrongLog(
    `partition ${partition}: ${problem}; if this is the right log, rebuild the read model with ` +
      '`tablog replay`; otherwise restore the log, or set the right one',
  );
}

/** The error for a log that ends before the place up to which it was projected. */
export function shortLog(partition: number, end: bigint, next: bigint): RecordsLost {
  return new RecordsLost(
    partition,
    `the log ends at ${end}, the read model is at ${next}: it was truncated or recreated`,
  );
}

/** The error for a log whose last projected record has changed. */
export function changedLog(partition: number, next: bigint): RecordsLost {
  return new RecordsLost(partition, `the record before offset ${next} is not the one that was projected`);
}

/** The genesis event, first in every partition of a log. */
export function encodeGenesis(logId: string): Uint8Array {
  const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
  return encodeEvent(envelope, { type: 'GenerationStarted', logId, base: 0n }).bytes;
}

/**
 * The ID that a log got at its creation, from the first record of the partition. Rejects with WrongLog if it has none.
 */
export async function readLogId(log: Pick<LogReader, 'read'>, partition: number): Promise<string> {
  for await (const [first] of log.read(partition, 0n, 1n)) {
    const { data } = decodeEvent(first!.bytes);
    if (data.type === 'GenerationStarted') return data.logId;
  }
  throw new WrongLog(
    `partition ${partition} does not begin with the event that names its log. Either it is not a log of Tablog, or it was ` +
      'recreated while processes ran, which then wrote to it first. In that case stop all of them, recreate it, and try again',
  );
}

/**
 * Names the log in each empty partition, for a log that no process begins. If some partitions were lost, they get the
 * ID of the log. If all were lost, the log gets a new ID.
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
 * Checks that the read model was built from this partition. If not, rejects with WrongLog, whose message says how to
 * recover.
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

/** How long to wait before a loss of records is checked again, in milliseconds. */
export const confirmDelay = 1500;

/** As far as this process knows, another broker now leads the partition. */
export class OtherLeader extends Error {
  override readonly name = 'OtherLeader';

  constructor(partition: number) {
    super(`another broker leads partition ${partition} by now`);
  }
}

/** A log in which brokers lead the partitions. */
export interface LedLog extends Pick<LogReader, 'read' | 'bounds'> {
  /** The broker that is asked about a partition; undefined if no broker leads it. */
  leaderOf(partition: number): string | undefined;
  /** Asks for the leader of a partition until another broker names the same one. Resolves to that leader. */
  findLeaderAnew(partition: number): Promise<string>;
  /**
   * The log as this broker has it. If another broker now leads a partition, reads reject with OtherLeader. Undefined:
   * the log as each current leader has it.
   */
  ledBy(leader: string | undefined): Pick<LogReader, 'read' | 'bounds'>;
}

/**
 * `proveIdentity` for a log in Kafka. Resolves to the broker that gave the proof. A deposed leader that does not know
 * it yet answers from an old state. So records count as lost only if they are still missing after a while, when the
 * leader of that time is asked. One broker must give all answers of a proof, because this process may take one broker
 * for the leader, then another, and then the first again.
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
