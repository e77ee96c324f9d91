/**
 * The speed of reading, profiling and writing the rows of a CSV body as blocks: our reader compared with Papa Parse
 * alone on the same text, and with itself on the same rows in other forms. Run: node bench/scan-cells.ts
 */
import Papa from 'papaparse';
import type { DelimitedForm } from '../src/language/formats/delimited-form.ts';
import { DelimitedRowReader } from '../src/language/formats/delimited-row-reader.ts';
import { below, makeRows, seededRandom } from './data.ts';
import { median } from './report.ts';

const rowCount = 100_000;
const rounds = 9;
const warmUpRounds = 3;
const chunkBytes = 64 * 1024;

const random = seededRandom(20);
const tables: Record<string, object[]> = {
  'ten columns': makeRows(random, rowCount),
  'with quotes and commas': makeRows(random, rowCount).map((row) => ({
    ...row,
    notes: `"${row.company}", ${row.notes}`,
  })),
  'numbers only': makeRows(random, rowCount).map(() =>
    Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`n${at}`, below(random, 10_000_000) / 100])),
  ),
  'with gaps': makeRows(random, rowCount).map((row) => ({ ...row, company: '', newsletter: '', seats: '' })),
};

function read(bytes: Buffer, form: DelimitedForm): number {
  const reader = new DelimitedRowReader({ delimiter: ',', form });
  let blocks = 0;
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    blocks += [...reader.push(bytes.subarray(start, start + chunkBytes))].length;
  }
  return blocks + reader.end().blocks.length;
}

/** Each contender, with the form of its text. */
const contenders: Record<string, readonly [written: Papa.UnparseConfig, read: (bytes: Buffer) => unknown]> = {
  'Papa Parse': [{}, (bytes) => Papa.parse(bytes.toString(), { delimiter: ',', newline: '\n' })],
  'reader': [{}, (bytes) => read(bytes, {})],
  'semicolons': [{ delimiter: ';' }, (bytes) => read(bytes, { delimiter: ';', comment: '#', lenient: true })],
  'an escape': [{ escapeChar: '\\' }, (bytes) => read(bytes, { escape: '\\' })],
};

for (const [name, rows] of Object.entries(tables)) {
  console.log(`${name}: ${rowCount} rows`);
  for (const [contender, [written, read]] of Object.entries(contenders)) {
    const bytes = Buffer.from(Papa.unparse(rows, { newline: '\n', ...written }));
    const times: number[] = [];
    for (let round = -warmUpRounds; round < rounds; round += 1) {
      const start = performance.now();
      read(bytes);
      if (round >= 0) times.push(performance.now() - start);
    }
    const time = median(times);
    console.log(
      `  ${contender.padEnd(16)}${time.toFixed(0).padStart(6)} ms${(bytes.length / time / 1e3).toFixed(0).padStart(6)} MB/s`,
    );
  }
}
