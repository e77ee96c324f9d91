/** Counts the rows of binary COPY data (https://www.postgresql.org/docs/current/sql-copy.html, "Binary Format"). */
import { BackupError } from './backup-store.ts';

/** Signature (11 bytes), flags (4) and the length of the header extension (4), which is 0. */
const headerBytes = 19;

/**
 * Counts the rows of a stream whose parts may be cut anywhere. Rejects with BackupError if the stream ends before or
 * after its trailer. Keeps no row in memory.
 */
export async function countRows(parts: AsyncIterable<Buffer>): Promise<number> {
  let rows = 0;
  /** The bytes of a number that have arrived so far, and how many bytes to skip before the next number. */
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
    if (hasEnded && at < part.length) throw new BackupError('The copy of a table has bytes after its last row.');
  }
  if (!hasEnded) throw new BackupError('The copy of a table ends before its last row.');
  return rows;
}
