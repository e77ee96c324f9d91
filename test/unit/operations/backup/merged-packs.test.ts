import { expect, test } from '@jest/globals';
import { fullPackBytes, keptPacks } from '../../../../src/operations/backup/merged-packs.ts';
import { packBytesMax } from '../../../../src/operations/backup/packs.ts';
import { fc } from '../../../support/property.ts';

/** What a sequence of backups leaves: the sizes of the packs, and how many bytes all backups wrote. */
function afterBackups(sizes: Iterable<number>): { readonly packs: readonly number[]; readonly written: number } {
  const packs: number[] = [];
  let written = 0;
  for (const size of sizes) {
    const kept = keptPacks(packs, size);
    let tail = packs.splice(kept).reduce((sum, bytes) => sum + bytes, size);
    written += tail;
    for (; tail > 0; tail -= packs.at(-1)!) packs.push(Math.min(tail, packBytesMax));
  }
  return { packs, written };
}

const total = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

test('any sequence of backups leaves only a few more packs than its data needs', () => {
  const size = fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 2 * fullPackBytes }));
  fc.assert(
    fc.property(fc.array(size, { maxLength: 500 }), (sizes) => {
      const { packs, written } = afterBackups(sizes);
      expect(total(packs)).toBe(total(sizes));
      const open = packs.findIndex((bytes) => bytes < fullPackBytes);
      const small = open === -1 ? [] : packs.slice(open);
      // Full packs come first: none that can be merged is left between them.
      expect(small.every((bytes) => bytes < fullPackBytes)).toBe(true);
      expect(packs.length - small.length).toBeLessThanOrEqual(total(sizes) / fullPackBytes);
      for (const [at, bytes] of small.entries()) expect(bytes).toBeGreaterThanOrEqual(2 * (small[at + 1] ?? 0));
      expect(small.length).toBeLessThanOrEqual(Math.log2(fullPackBytes) + 1);
      const least = Math.min(...sizes.filter((bytes) => bytes > 0));
      const times = 1 + Math.ceil(Math.log(Math.max(1, fullPackBytes / least)) / Math.log(1.5));
      expect(written).toBeLessThanOrEqual(times * total(sizes));
    }),
  );
});

test('a year of backups every five minutes leaves a few packs, and each byte is written a few times', () => {
  const backups = 365 * 24 * 12;
  const bytesOfBackup = 1000;
  const { packs, written } = afterBackups(Array.from({ length: backups }, () => bytesOfBackup));
  expect(packs.length).toBeLessThanOrEqual(Math.ceil((backups * bytesOfBackup) / fullPackBytes) + 22);
  expect(written / (backups * bytesOfBackup)).toBeLessThan(15);
});

test('a backup without new records keeps all packs', () => {
  expect(keptPacks([1, 1, 1], 0)).toBe(3);
});
