/**
 * Tables of random texts, written in random dialects by a writer that shares no code with the reader, read back equal,
 * also in chunks.
 */
import { expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { cellsByColumn, formOf, write, writtenTables } from './dialect-writer.ts';
import { cuts } from './in-chunks.ts';
import { chunksOf } from './json-text.ts';
import { readCells } from './read-cells.ts';
import { cellsRead } from './read-rows.ts';

test('a table that is written in any dialect reads back equal', () => {
  fc.assert(
    fc.property(writtenTables, cuts, ({ table, writing }, places) => {
      const text = write(table, writing);
      const form = formOf(writing);
      const expected = { text, form, rows: cellsByColumn(table, writing) };
      for (const chunks of [[Buffer.from(text)], chunksOf(Buffer.from(text), places)]) {
        expect({ text, form, rows: cellsRead(readCells(chunks, { form })) }).toEqual(expected);
      }
    }),
    { numRuns: 50_000 },
  );
});
