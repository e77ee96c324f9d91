/**
 * Tables of random texts, written by Python's csv module in random dialects, read back equal. Needs `python3`, and runs
 * at full scale only.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { cellsByColumn, formOf, writtenTables, type Table, type Writing } from './dialect-writer.ts';
import { readCells } from './read-cells.ts';
import { cellsRead } from './read-rows.ts';

let python: ChildProcessByStdio<Writable, Readable, null>;
let lines: AsyncIterator<string>;

beforeAll(async () => {
  python = spawn('python3', ['-B', join(import.meta.dirname, 'write-tables.py')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(python, 'spawn');
  lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
});
afterAll(async () => {
  python.stdin.end();
  if (python.exitCode === null) await once(python, 'close');
});

/** What Python leaves without quotes, but must have them: it knows no comments, and quotes no line end but its own. */
const special = ['\r', '\n', '\u001a', '\ufeff'];

function quotingOf({ header, rows }: Table, { quote, quotesAll, escape, comment }: Writing): string {
  if (quote === null) return 'none';
  const mustBeQuoted =
    escape !== null ||
    comment !== null ||
    [header, ...rows].flat().some((cell) => special.some((character) => cell.includes(character)));
  return quotesAll || mustBeQuoted ? 'all' : 'minimal';
}

async function writeInPython(table: Table, writing: Writing): Promise<string> {
  const { delimiter, quote, escape, newline, hasHeader, byteOrderMark, skipped } = writing;
  const records = hasHeader ? [table.header, ...table.rows] : table.rows;
  python.stdin.write(
    `${JSON.stringify({ delimiter, quote, escape, newline, quoting: quotingOf(table, writing), records })}\n`,
  );
  const { value, done } = await lines.next();
  if (done === true) throw new Error('python3 ended');
  return `${byteOrderMark ? '\ufeff' : ''}${skipped.map((line) => line + newline).join('')}${JSON.parse(value) as string}`;
}

test('a table that Python writes in any dialect reads back equal', async () => {
  await fc.assert(
    fc.asyncProperty(writtenTables, async ({ table, writing }) => {
      const text = await writeInPython(table, writing);
      const form = formOf(writing);
      expect({ text, form, rows: cellsRead(readCells([text], { form })) }).toEqual({
        text,
        form,
        rows: cellsByColumn(table, writing),
      });
    }),
    { numRuns: 50_000 },
  );
});
