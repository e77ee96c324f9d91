/**
 * Decides which packs of records a backup keeps and which it merges (docs/decisions/0060). Records are only appended,
 * so a backup merges the newest packs with the new records. Pure.
 */

/** A pack of at least this many bytes, uncompressed, is never written again. */
export const fullPackBytes = 4 * 2 ** 20;

/** A pack is kept if it has at least this many times the bytes that follow it. */
const growth = 2;

/**
 * How many packs to keep, counted from the oldest. The records of the others are written again, together with the new
 * ones.
 *
 * A merged pack has less than twice the bytes that follow it. So its records go into a pack at least half as large
 * again, and each record is written at most log(fullPackBytes / size of a backup) / log(1.5) times. A kept pack that is
 * not full has at least twice the bytes of all packs after it, so there are at most log2(fullPackBytes) such packs.
 *
 * @param packBytes the sizes of the packs, oldest first
 * @param newBytes the size of the new records; 0: no pack is merged
 */
export function keptPacks(packBytes: readonly number[], newBytes: number): number {
  if (newBytes === 0) return packBytes.length;
  let tail = newBytes;
  let kept = packBytes.length;
  for (; kept > 0; kept -= 1) {
    const bytes = packBytes[kept - 1]!;
    if (bytes >= fullPackBytes || bytes >= growth * tail) break;
    tail += bytes;
  }
  return kept;
}
