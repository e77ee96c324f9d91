/**
 * DuckDB reads the same values out of the bodies of rows as src/language/values does
 * (src/api/query/engine/stored-type.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DuckDBValue } from '@duckdb/node-api';
import type { CopiedRow } from '../../../../../projections/tables/copied-rows.ts';
import { Columnar, type ColumnarChange } from '../../../../../src/api/query/engine/columnar.ts';
import { addRow, changeRow } from '../../../../../src/api/query/engine/few-rows.ts';
import { partsBeside, partTable, withParts } from '../../../../../src/api/query/engine/parts.ts';
import {
  createRows,
  forever,
  RowWriter,
  type CopyColumn,
  type WrittenTable,
} from '../../../../../src/api/query/engine/row-writer.ts';
import { storedType } from '../../../../../src/api/query/engine/stored-type.ts';
import type { ColumnType } from '../../../../../src/language/values/column-type.ts';
import { fitToken } from '../../../../../src/language/values/fit-value.ts';
import { fc } from '../../../../support/property.ts';
import { values } from '../../../../support/type-samples.ts';

let folder: string;
let columnar: Columnar;
let tables = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-rows-'));
  columnar = await Columnar.open({
    folder,
    memoryBytesMax: 2 ** 28,
    diskBytesMax: 2 ** 28,
    threads: 1,
    onEnd: (reason) => {
      throw new Error(reason);
    },
  });
});

afterAll(async () => {
  columnar.close();
  await rm(folder, { recursive: true });
});

/** A column with its cells in the rows of a table, as they are written in the bodies; undefined: the row has none. */
interface Column {
  readonly id: string;
  readonly type: ColumnType;
  readonly tokens: readonly (string | undefined)[];
}

/** How rows are written into a copy. */
type Write = (change: ColumnarChange, to: WrittenTable, rows: readonly CopiedRow[]) => Promise<void>;

const ways: readonly Write[] = [
  (change, to, rows) =>
    RowWriter.use(change, { ...to, onProgress: async () => {} }, async (writer) => {
      for (const [n, row] of rows.entries()) {
        writer.add(row, BigInt(n));
        if (writer.isDue) await writer.giveWay();
      }
    }),
  async (change, to, rows) => {
    for (const [n, row] of rows.entries()) for (const statement of addRow(to, row, BigInt(n))) change.run(statement);
  },
  async (change, to, rows) => {
    for (const [n, row] of rows.entries()) {
      for (const statement of addRow({ ...to, since: to.since - 1n }, { ...row, body: '{}' }, BigInt(n)))
        change.run(statement);
      for (const statement of changeRow(to, row)) change.run(statement);
    }
  },
];

/** The stored values of columns, as they are read back after their rows were written. */
async function written(
  columns: readonly Column[],
  write: Write,
  keyOf: (id: string) => string = JSON.stringify,
): Promise<DuckDBValue[][]> {
  const table = `memory.main.rows${(tables += 1)}`;
  const ofTable = columns.map(({ id, type }, at): CopyColumn => ({
    id,
    sql: `c${at}`,
    part: at % 3,
    type,
    stored: storedType(type),
  }));
  const bodies = columns[0]!.tokens.map((_, row) => {
    return `{${columns.flatMap(({ id, tokens }) => (tokens[row] === undefined ? [] : [`${keyOf(id)}:${tokens[row]}`])).join(',')}}`;
  });
  return columnar.change(null, async (change) => {
    for (const statement of createRows(table, ofTable)) change.run(statement);
    await write(
      change,
      { table, columns: ofTable, since: 5n },
      bodies.map((body, index): CopiedRow => {
        return { version: 5n, ordinal: 1, index, rowId: `row ${index}`, rowVersion: 5n, body };
      }),
    );
    const rows = await change.rows(
      `SELECT n, row_id, body, ${ofTable.map(({ sql }) => sql).join(', ')} FROM ${withParts(table, ofTable)} WHERE until = ${forever} ORDER BY n`,
    );
    expect(rows.map((row) => row.slice(0, 3))).toEqual(
      bodies.map((body, index) => [BigInt(index), `row ${index}`, body]),
    );
    for (const part of [0, ...partsBeside(ofTable)]) change.run(`DROP TABLE ${partTable(table, part)}`);
    return columns.map((_, at) => rows.map((row) => row[at + 3]!));
  });
}

function expected({ type, tokens }: Column): DuckDBValue[] {
  return tokens.map((token) => (token === undefined ? null : storedType(type).of(JSON.parse(token))));
}

/** JSON strings of a text: its characters as they are, or escaped. */
const stringToken = fc
  .array(
    fc.tuple(
      fc.oneof(
        { weight: 5, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }) },
        fc.constantFrom('\u0001', '\n', '"', '\\', '/', '\u007f', '\ud83d\ude00', 'true', 'null'),
      ),
      fc.boolean(),
    ),
    { maxLength: 20 },
  )
  .map((parts) => {
    const escaped = (text: string): string =>
      Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
        '',
      );
    return `"${parts.map(([text, isEscaped]) => (isEscaped ? escaped(text) : JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'))).join('')}"`;
  })
  .filter((token) => !(JSON.parse(token) as string).includes('\0') && (JSON.parse(token) as string).isWellFormed());

const digits = fc.stringMatching(/^[0-9]{1,25}$/);
/** JSON numbers in all spellings that rows may hold. */
const numberToken = fc
  .oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,25}$/)),
        fc.option(digits),
        fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.nat(330))),
      )
      .map(
        ([sign, whole, fraction, exponent]) =>
          `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : exponent.join('')}`,
      ),
    fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n }).map((value) => String(BigInt(Number(value)))),
    fc.constantFrom(
      '-0',
      '-0.0',
      '0e5',
      '1e-400',
      '5e-324',
      '1.7976931348623157e308',
      '18446744073709551616',
      '9223372036854775808',
      '-9223372036854775808',
      '10000000000000000000000',
    ),
  )
  .filter((token) => Number.isFinite(Number(token)) && fitToken(token, 'number', false) !== undefined);

const samples = (type: ColumnType): fc.Arbitrary<string> =>
  fc.constantFrom(...values[type]!.fit.map((value) => fitToken(JSON.stringify(value), type, false)!));

const scalarToken = (type: string): fc.Arbitrary<string> => {
  if (type === 'string') return stringToken;
  if (type === 'number') return numberToken;
  if (type === 'json')
    return fc.oneof(
      samples('json'),
      numberToken,
      stringToken,
      fc.array(fc.oneof(numberToken, stringToken), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    );
  return samples(type as ColumnType);
};

const types = Object.keys(values).flatMap((type) => [type, `array<${type}>`]) as ColumnType[];

const columnOf = (type: ColumnType, rows: number): fc.Arbitrary<Column> => {
  const item = /^array<(.+)>$/.exec(type)?.[1];
  const token =
    item === undefined
      ? scalarToken(type)
      : fc.array(scalarToken(item), { maxLength: 3 }).map((items) => `[${items.join(',')}]`);
  return fc.record({
    id: fc.constant(type),
    type: fc.constant(type),
    tokens: fc.array(fc.option(token, { nil: undefined, freq: 8 }), { minLength: rows, maxLength: rows }),
  });
};

test('cells of all types are written', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(...types.map((type) => columnOf(type, 5))),
      fc.constantFrom(...ways),
      async (columns, write) => {
        expect(await written(columns, write)).toEqual(columns.map(expected));
      },
    ),
    { numRuns: 1_000_000 },
  );
});

test('moments are written, next to texts and keys that look like moments', async () => {
  const moments = ['date', 'time', 'dateTime'] as const;
  const ids = ['d', '"d', 'x"d', '\\', '\\"', 'd":"', 'dd'];
  const lookalikes = fc.constantFrom(
    ...ids.flatMap((id) => [
      JSON.stringify(`${JSON.stringify(id)}:"2020-01-01"`),
      JSON.stringify(`"${id}":"2020-01-01"`),
      JSON.stringify(id),
    ]),
  );
  const column = (id: string, type: ColumnType, token: fc.Arbitrary<string>): fc.Arbitrary<Column> => {
    return fc.record({
      id: fc.constant(id),
      type: fc.constant(type),
      tokens: fc.array(fc.option(token, { nil: undefined, freq: 8 }), { minLength: 4, maxLength: 4 }),
    });
  };
  const columns = fc
    .tuple(
      fc.shuffledSubarray(ids, { minLength: 1 }),
      fc.array(fc.nat(5), { minLength: ids.length, maxLength: ids.length }),
    )
    .chain(([chosen, kinds]) => {
      return fc.tuple(
        ...chosen.map((id, at) => {
          const type = moments[kinds[at]!];
          return type === undefined ? column(id, 'string', lookalikes) : column(id, type, samples(type));
        }),
      );
    });
  await fc.assert(
    fc.asyncProperty(columns, async (some) => {
      for (const write of ways) expect(await written(some, write)).toEqual(some.map(expected));
    }),
    { numRuns: 1_000_000 },
  );
});

test('columns are found by their IDs', async () => {
  const ids = [
    'a',
    'A',
    'a/b',
    'a~b',
    '~1',
    '/',
    '$.a',
    '$',
    '*',
    '0',
    '#-1',
    '"',
    "'",
    '\\',
    'ä',
    '😀',
    ' ',
    '\n',
    '\u0001',
    '__proto__',
    'constructor',
    'toString',
  ];
  const columns = ids.map((id, at): Column => ({
    id,
    type: at % 2 === 0 ? 'string' : 'json',
    tokens: [`"${at}"`, undefined],
  }));
  const escaped = (id: string): string =>
    `"${Array.from({ length: id.length }, (_, at) => `\\u${id.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
  for (const keyOf of [JSON.stringify, escaped]) {
    for (const write of ways) expect(await written(columns, write, keyOf)).toEqual(columns.map(expected));
  }
});

test('tables are written with all cells prepared, or none, and in several writes', async () => {
  const tokens = Array.from({ length: 3 }, () => JSON.stringify('x'.repeat(1_500_000)));
  for (const type of ['string', 'json'] as const) {
    for (const write of ways)
      expect(await written([{ id: 'a', type, tokens }], write)).toEqual([expected({ id: 'a', type, tokens })]);
  }
});
