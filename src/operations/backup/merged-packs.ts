/**
 * Decides which packs of records a backup keeps and which it merges (docs/decisions/0060). Records only come at the
 * end, so the newest packs are merged with the new records. Pure.
 */

/** A pack of at least this many bytes, uncompressed, is never written again. */
export const fullPackBytes = 4 * 2 ** 20;

/** A pack is kept if it has at least this many times the bytes that come behind it. */
const growth = 2;

/**
 * How many of the packs are kept, from the oldest on. The records of the others are written again, together with the
 * new ones.
 *
 * A pack that is merged has less than twice the bytes that it is merged with. So its records go into one that is at
 * least half as large again, and each record is written at most log(fullPackBytes / size of a backup) / log(1.5) times.
 * Among the packs that are kept, each that is not full has at least twice the bytes of all packs behind it together, so
 * there are few: at most log2(fullPackBytes).
 *
 * @param packBytes the sizes of the packs, oldest first
 * @param newBytes the size of the new records; none of the packs is merged if there are none
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
