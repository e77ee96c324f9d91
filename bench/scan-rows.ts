/**
 * The speed of reading the rows of a JSON body: our scanner compared with `JSON.parse`, and with `JSON.parse` plus
 * `JSON.stringify` of each row (like a service that checks and stores values), on the same bytes in alternating rounds.
 * Run: node bench/scan-rows.ts
 */
import { JsonRowReader } from '../src/language/formats/json-row-reader.ts';
import { below, makeRow, seededRandom } from './data.ts';
import { median } from './report.ts';

const rowCount = 1_000;
const rounds = 400;
const warmUpRounds = 200;

const random = seededRandom(20);
const bodies: Record<string, (index: number) => unknown> = {
  'ten plain columns': () => ({
    id: below(random, 1e9),
    code: `C-${below(random, 1e6)}`,
    city: 'Springfield',
    title: 'An ordinary thing of wood',
    description: 'One of the things that people have at home, of which there is nothing more to be said than this.',
    price: below(random, 1e6) / 100,
    stock: below(random, 500),
    sold: random() < 0.5,
    listed: true,
    remark: 'Ask for the larger one, and have somebody carry it to the car before the rain comes.',
  }),
  'with e-mail, URI and date': () => makeRow(random),
  'with nulls and gaps': (index) => {
    const { company, notes, ...row } = makeRow(random);
    if (index % 3 === 0) return { ...row, company, notes };
    return index % 3 === 1 ? { ...row, company: null, notes } : { ...row, company: null };
  },
  'with arrays and objects': (index) => ({
    ...makeRow(random),
    tags: ['red', 'green'],
    size: { width: index, height: 2 },
  }),
};

const contenders: Record<string, (bytes: Buffer) => unknown> = {
  'JSON.parse': (bytes) => JSON.parse(bytes.toString()),
  'JSON.parse + stringify': (bytes) => (JSON.parse(bytes.toString()) as unknown[]).map((row) => JSON.stringify(row)),
  'scanner': (bytes) => {
    const reader = new JsonRowReader({ form: 'rows' });
    return [...reader.push(bytes), ...reader.end().blocks];
  },
};

for (const [name, row] of Object.entries(bodies)) {
  const bytes = Buffer.from(JSON.stringify(Array.from({ length: rowCount }, (_, index) => row(index))));
  const times = new Map(Object.keys(contenders).map((contender) => [contender, [] as number[]]));
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [contender, read] of Object.entries(contenders)) {
      const start = performance.now();
      read(bytes);
      if (round >= 0) times.get(contender)!.push(performance.now() - start);
    }
  }
  const scanner = median(times.get('scanner')!);
  console.log(`${name}: ${rowCount} rows, ${(bytes.length / 1e6).toFixed(2)} MB`);
  for (const [contender, values] of times) {
    const time = median(values);
    console.log(`  ${contender.padEnd(24)}${time.toFixed(3)} ms${(time / scanner).toFixed(2).padStart(8)}`);
  }
}
