/**
 * Stores records of the log in packs. A pack is binary COPY data for the table `records` of a log in Postgres
 * (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"), also if the log is in Kafka.
 */
import type { LogReader, LogRecord } from '../../log/event-log.ts';
import { hashOf } from '../../log/identity.ts';
import type { BackupStore } from './backup-store.ts';
import { BackupError } from './backup-store.ts';
import type { PartitionBackup } from './manifest.ts';
import { fullPackBytes, keptPacks } from './merged-packs.ts';
import { packBytesMax, readPack, type PackWriter } from './packs.ts';

const header = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');
const trailer = Buffer.from('ffff', 'hex');

/** The size of a tuple before the record's bytes: the number of fields, then a length and a value for each. */
const headBytes = 2 + (4 + 2) + (4 + 8) + (4 + 8) + 4;

/** The content of a pack. */
export function encodeRecords(records: readonly LogRecord[]): Buffer {
  const parts: Uint8Array[] = [header];
  for (const { partition, offset, time, bytes } of records) {
    const head = Buffer.alloc(headBytes);
    let at = head.writeInt16BE(4, 0);
    at = head.writeInt16BE(partition, head.writeInt32BE(2, at));
    at = head.writeBigInt64BE(offset, head.writeInt32BE(8, at));
    at = head.writeBigInt64BE(BigInt(time), head.writeInt32BE(8, at));
    head.writeInt32BE(bytes.length, at);
    parts.push(head, bytes);
  }
  parts.push(trailer);
  return Buffer.concat(parts);
}

function* decode(content: Buffer): Generator<LogRecord> {
  if (!content.subarray(0, header.length).equals(header)) throw new BackupError('A pack has no records.');
  for (let at = header.length; content.readInt16BE(at) !== -1;) {
    const bytesAt = at + headBytes;
    const end = bytesAt + content.readInt32BE(bytesAt - 4);
    yield {
      partition: content.readInt16BE(at + 6),
      offset: content.readBigInt64BE(at + 12),
      time: Number(content.readBigInt64BE(at + 24)),
      bytes: content.subarray(bytesAt, end),
    };
    at = end;
  }
}

type RecordPacks = NonNullable<PartitionBackup['records']>;

/** A partition in the last set. */
type PartitionBefore = Pick<PartitionBackup, 'next' | 'lastHash' | 'records'>;

/**
 * Writes the records of a partition up to `next` (exclusive). If the log still has the records of the set before, its
 * packs are kept, except small ones: their records are read from the log again and merged with the new ones. If the log
 * has lost records since, all are written anew. Calls `onWritten` with the offset after the last written record.
 */
export async function writeRecords(
  log: Pick<LogReader, 'read'>,
  packs: PackWriter,
  partition: number,
  next: bigint,
  before: PartitionBefore | undefined,
  onWritten: (end: bigint) => void,
): Promise<RecordPacks> {
  const present = before?.records && (await isContinued(log, partition, next, before)) ? before.records : [];
  const kept = keptPacks(
    present.map(({ bytes }) => bytes),
    present.length === 0 ? 0 : await bytesUpToFull(log, partition, BigInt(before!.next), next),
  );
  const written = present.slice(0, kept);
  const from = kept < present.length ? BigInt(present[kept]!.first) : present.length > 0 ? BigInt(before!.next) : 0n;
  let held: LogRecord[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (held.length === 0) return;
    written.push({ first: String(held[0]!.offset), pack: await packs.write(encodeRecords(held)), bytes });
    onWritten(held.at(-1)!.offset + 1n);
    held = [];
    bytes = 0;
  };
  for await (const records of log.read(partition, from, next)) {
    for (const record of records) {
      held.push(record);
      bytes += bytesOf(record);
      if (bytes >= packBytesMax) await flush();
    }
  }
  await flush();
  return written;
}

function bytesOf(record: LogRecord): number {
  return headBytes + record.bytes.length;
}

/** The bytes of these records. Stops counting at a full pack, because then all packs that are not full are merged. */
async function bytesUpToFull(
  log: Pick<LogReader, 'read'>,
  partition: number,
  from: bigint,
  to: bigint,
): Promise<number> {
  let bytes = 0;
  for await (const records of log.read(partition, from, to)) {
    for (const record of records) bytes += bytesOf(record);
    if (bytes >= fullPackBytes) break;
  }
  return bytes;
}

async function isContinued(
  log: Pick<LogReader, 'read'>,
  partition: number,
  next: bigint,
  before: PartitionBefore,
): Promise<boolean> {
  const end = BigInt(before.next);
  if (end === 0n || end > next) return false;
  for await (const [last] of log.read(partition, end - 1n, end))
    return hashOf(last!).toString('hex') === before.lastHash;
  return false;
}

/**
 * Yields the records of a partition in order, a batch for each pack, beginning with the pack that contains `from`.
 * Rejects with BackupError if a record is missing, or if the last one does not have the hash that the read model
 * remembers.
 */
export async function* readPackedRecords(
  store: BackupStore,
  partition: number,
  { records, next, lastHash }: PartitionBackup,
  from = 0n,
): AsyncGenerator<readonly LogRecord[]> {
  const packs = records ?? [];
  const begin = Math.max(
    0,
    packs.findLastIndex(({ first }) => BigInt(first) <= from),
  );
  let expected = begin === 0 ? 0n : BigInt(packs[begin]!.first);
  let last: LogRecord | undefined;
  for (const { pack } of packs.slice(begin)) {
    const batch: LogRecord[] = [];
    for (const record of decode(await readPack(store, pack))) {
      if (record.partition !== partition || record.offset !== expected) {
        throw new BackupError(`Pack ${pack} lacks the records from ${expected} on of partition ${partition}.`);
      }
      expected += 1n;
      // Log time never falls, but in Kafka the first record of a reading may have a lower time (LogReader.read), and
      // each backup began a reading.
      last = { ...record, time: Math.max(record.time, last?.time ?? 0) };
      batch.push(last);
    }
    yield batch;
  }
  if (expected !== BigInt(next) || (last !== undefined && hashOf(last).toString('hex') !== lastHash)) {
    throw new BackupError(
      `The read model was not built from the records of partition ${partition} up to ${next} in this set.`,
    );
  }
}
