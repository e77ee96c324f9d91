import { expect, test } from '@jest/globals';
import { hashBytesOf } from '../../../../../projections/tables/keys/row-keys.store.ts';
import { SortedKeys } from '../../../../../src/api/http/tables/sorted-keys.ts';
import { fc } from '../../../../support/property.ts';

const rows = fc.array(fc.record({ extent: fc.bigInt(1n, 2n ** 62n), index: fc.nat(2 ** 31 - 1) }), { maxLength: 50 });

test('keys come back once each, in parts, in the order of the first bytes of their hashes', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 60 }), async (places, keysAtOnce) => {
      const keys = new SortedKeys(places.length);
      const given = places.map((place, at) => ({ ...place, hash: hashBytesOf(String(at)) }));
      for (const { hash, ...place } of given) keys.add(hash, place);
      const found: typeof given = [];
      for await (const { places: some, hashes } of keys.inOrder(keysAtOnce)) {
        expect(some.length).toBeLessThanOrEqual(keysAtOnce);
        found.push(...some.map((place, at) => ({ ...place, hash: hashes.subarray(at * 16, (at + 1) * 16) })));
      }
      const prefixes = found.map(({ hash }) => hash.readUInt16BE());
      expect(prefixes).toEqual(prefixes.toSorted((a, b) => a - b));
      const inHex = (all: typeof given): string[] =>
        all.map(({ extent, index, hash }) => `${hash.toString('hex')} ${extent} ${index}`).toSorted();
      expect(inHex(found)).toEqual(inHex(given));
    }),
  );
});
