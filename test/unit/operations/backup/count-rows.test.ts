import { expect, test } from '@jest/globals';
import { countRows } from '../../../../src/operations/backup/count-rows.ts';
import { fc } from '../../../support/property.ts';

const header = Buffer.from('5047434f50590aff0d0a000000000000000000', 'hex');

/** Binary COPY data of rows; null: a field is NULL. */
function encode(rows: readonly (readonly (Uint8Array | null)[])[]): Buffer {
  const number = (value: number, bytes: 2 | 4): Buffer => {
    const buffer = Buffer.alloc(bytes);
    buffer.writeIntBE(value, 0, bytes);
    return buffer;
  };
  const encoded = rows.flatMap((row) => [
    number(row.length, 2),
    ...row.flatMap((field) => [number(field?.length ?? -1, 4), field ?? Buffer.alloc(0)]),
  ]);
  return Buffer.concat([header, ...encoded, number(-1, 2)]);
}

async function* cut(content: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

const tables = fc.array(fc.array(fc.option(fc.uint8Array({ maxLength: 40 })), { maxLength: 5 }), { maxLength: 20 });
const partSizes = fc.integer({ min: 1, max: 100 });

test('rows are counted, in whatever pieces their data comes', async () => {
  await fc.assert(
    fc.asyncProperty(tables, partSizes, async (rows, size) => {
      expect(await countRows(cut(encode(rows), size))).toBe(rows.length);
    }),
  );
});

test('data that ends early, or has bytes after its last row, is refused', async () => {
  await fc.assert(
    fc.asyncProperty(tables, partSizes, fc.nat(), async (rows, size, at) => {
      const content = encode(rows);
      await expect(countRows(cut(content.subarray(0, at % content.length), size))).rejects.toThrow(
        'ends before its last row',
      );
      await expect(countRows(cut(Buffer.concat([content, Buffer.from('more')]), size))).rejects.toThrow(
        'has bytes after its last row',
      );
    }),
  );
});
