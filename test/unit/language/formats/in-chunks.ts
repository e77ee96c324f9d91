/** Checks that a reader gives the same of a body, however that is cut into chunks. */
import { expect } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { chunksOf } from './json-text.ts';
import { refusalOf, type RowsRead } from './read-rows.ts';

type Read = (chunks: readonly Uint8Array[]) => RowsRead;

const everyPlace = Array.from({ length: 600 }, (_, place) => place);

/** Where a body is cut: at a few places, or, if it is short, at every one. */
export const cuts = fc.oneof(fc.array(fc.nat(), { maxLength: 8 }), fc.constant(everyPlace));

/** The body may be refused: then with the same words. */
export function expectSameInChunks(bytes: Uint8Array, places: readonly number[], read: Read): void {
  const resultOf = (chunks: readonly Uint8Array[]): unknown => {
    let result;
    const refusal = refusalOf(() => (result = read(chunks)));
    return refusal ?? result;
  };
  expect(resultOf(chunksOf(bytes, places))).toEqual(resultOf([bytes]));
}

/** For a body that is larger than a slice, and of several blocks. */
export function expectSameBlocksInChunks(bytes: Uint8Array, read: Read): void {
  const blocksOf = (chunks: readonly Uint8Array[]): unknown[] =>
    read(chunks).blocks.map(({ body, profile }) => ({ body: Buffer.from(body).toString(), profile }));
  const whole = blocksOf([bytes]);
  expect(whole.length).toBeGreaterThan(3);
  for (const size of [1_000, 65_536, 131_072, 300_001]) {
    const places = Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => (index + 1) * size);
    expect(blocksOf(chunksOf(bytes, places))).toEqual(whole);
  }
}
