/** Counts the rows of binary COPY data (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"). */
import { BackupError } from './backup-store.ts';

/** The signature and the flags, and then the length of what may follow. */
const headerBytes = 19;

/**
 * Counts the rows of a stream, which comes in parts that are cut anywhere. Rejects with BackupError if it does not end
 * where its rows do. Keeps no row in memory.
 */
export async function countRows(parts: AsyncIterable<Buffer>): Promise<number> {
  let rows = 0;
  /** Bytes that were read of a number, and bytes to be skipped before the next one. */
  let held: Buffer = Buffer.alloc(0);
  let skipped = headerBytes;
  let fields = 0;
  let hasEnded = false;
  for await (const part of parts) {
    let at = Math.min(skipped, part.length);
    skipped -= at;
    while (at < part.length && !hasEnded) {
      const wanted = fields > 0 ? 4 : 2;
      const taken = part.subarray(at, at + wanted - held.length);
      held = Buffer.concat([held, taken]);
      at += taken.length;
      if (held.length < wanted) break;
      if (fields > 0) {
        fields -= 1;
        const length = Math.max(0, held.readInt32BE());
        const there = Math.min(length, part.length - at);
        at += there;
        skipped = length - there;
      } else {
        fields = held.readInt16BE();
        if (fields === -1) hasEnded = true;
        else rows += 1;
      }
      held = Buffer.alloc(0);
    }
    if (hasEnded && at < part.length) throw new BackupError('A table goes on behind its last row.');
  }
  if (!hasEnded) throw new BackupError('A table ends before its last row.');
  return rows;
}
