/**
 * Copies a log to another one, record by record, with the same offsets and times. If it is interrupted, the next run
 * continues where it ended.
 */
import type { CopyTarget, LogReader, LogRecord } from './event-log.ts';
import { hashOf, WrongLog } from './identity.ts';

/** How many bytes, or records, of small batches are collected before they are appended. */
const appendBytes = 2 * 1024 * 1024;
const appendRecords = 10_000;

interface CopyOptions {
  readonly source: Pick<LogReader, 'read' | 'bounds'>;
  readonly target: CopyTarget;
  readonly partition: number;
  /** The end of the target's partition, and the time of its last record, as `proveCopied` found them. */
  readonly from: CopyPlace;
  /** The offset after the last record to copy. */
  readonly to: bigint;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of records that were copied since the last call. */
  readonly onCopied?: ((records: number) => void) | undefined;
}

/** How far a partition is copied. */
export interface CopyPlace {
  readonly offset: bigint;
  /** The time of the record before it; 0 if there is none. */
  readonly time: number;
}

/**
 * Proves that all records of a target's partition are copies of the source's records up to `to`, by reading both.
 * Resolves to the end of the target's partition. Rejects with WrongLog.
 */
export async function proveCopied(
  source: Pick<LogReader, 'read'>,
  target: Pick<LogReader, 'read' | 'bounds'>,
  partition: number,
  to: bigint,
  signal?: AbortSignal,
): Promise<CopyPlace> {
  const { start, end } = await target.bounds(partition);
  if (start > 0n || end > to) throw notACopy(partition, `it begins at ${start} and ends at ${end}, the log at ${to}`);
  let time = 0;
  const copies = eachRecord(target.read(partition, 0n, end));
  try {
    for await (const record of eachRecord(source.read(partition, 0n, end))) {
      signal?.throwIfAborted();
      const { value: copy, done } = await copies.next();
      if (done || copy.offset !== record.offset || copy.time !== record.time || !hashOf(copy).equals(hashOf(record))) {
        throw notACopy(partition, `the record at ${record.offset} differs`);
      }
      time = record.time;
    }
  } finally {
    await copies.return(undefined);
  }
  return { offset: end, time };
}

/**
 * Copies a partition up to `to`. Holds a few megabytes at a time. Resolves to the end of the target's partition.
 * Rejects with WrongLog if another process writes to the target, and with the signal's reason if it aborts. Records
 * that were copied before that stay.
 */
export async function copyPartition({
  source,
  target,
  partition,
  from,
  to,
  signal,
  onCopied,
}: CopyOptions): Promise<CopyPlace> {
  let { offset, time } = from;
  let gathered: LogRecord[] = [];
  let bytes = 0;
  const append = async (): Promise<void> => {
    signal?.throwIfAborted();
    await target.appendCopies(partition, gathered);
    offset = gathered.at(-1)!.offset + 1n;
    onCopied?.(gathered.length);
    [gathered, bytes] = [[], 0];
  };
  for await (const record of eachRecord(source.read(partition, offset, to))) {
    // A reader that does not begin at 0 may return a time below that of earlier records.
    time = Math.max(time, record.time);
    gathered.push({ ...record, time });
    bytes += record.bytes.length;
    if (bytes >= appendBytes || gathered.length >= appendRecords) await append();
  }
  if (gathered.length > 0) await append();
  return { offset, time };
}

async function* eachRecord(
  batches: AsyncIterable<readonly LogRecord[]>,
): AsyncGenerator<LogRecord, undefined, undefined> {
  for await (const batch of batches) yield* batch;
}

function notACopy(partition: number, problem: string): WrongLog {
  return new WrongLog(
    `partition ${partition} of the log to copy to is no copy of this log (${problem}): name an empty log`,
  );
}
