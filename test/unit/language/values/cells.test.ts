/** Rows that are stored as cells: how they are read, and when as they are stored (docs/spec/decisions.md 2). */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import type { RowBlock } from '../../../../src/language/formats/block-writer.ts';
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { concatenateAll } from '../../../../src/language/values/build-profile.ts';
import { fitCell } from '../../../../src/language/values/cell-value.ts';
import { columnTypes } from '../../../../src/language/values/column-type.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import type { SchemaErrorMode } from '../../../../src/language/values/decide-schema.ts';
import { decideSchema } from '../../../../src/language/values/decide-schema.ts';
import { isAtMost } from '../../../../src/language/values/lattice.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';
import { widenToken } from '../../../../src/language/values/fit-value.ts';
import { holdsCells, isPlain, presenterOf } from '../../../../src/language/values/presentation.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { currentRule, plainCells } from '../../../../src/language/values/rule.ts';
import { currentType, findColumn, schemaOf } from '../../../../src/language/values/table-schema.ts';
import type { TableSchema } from '../../../../src/language/values/table-schema.ts';
import { readCells } from '../formats/read-cells.ts';
import { cellText } from './cell-texts.ts';

const anyType = fc.constantFrom(...columnTypes);
const texts = fc.array(cellText, { minLength: 1, maxLength: 6 });

/** A block of one column `c` with these cells. */
function blockOf(cells: readonly string[]): RowBlock {
  return readCells([['c', ...cells].map((cell) => `"${cell.replaceAll('"', '""')}"\n`).join('')]).blocks[0]!;
}

const bodiesOf = ({ body }: RowBlock): string[] => Buffer.from(body).toString().split('\n');

/** A column that had these types since the versions 1, 2, 3. */
function schemaFrom(...types: readonly ColumnType[]): TableSchema {
  return { columns: [{ id: 'c', types: types.map((type, at) => ({ type, since: BigInt(at + 1) })) }] };
}

test.each<[body: string, types: ColumnType[], presented: string]>([
  ['{"c":"007"}', ['string'], '{"c":"007"}'],
  ['{"c":4.20}', ['string'], '{"c":"4.20"}'],
  ['{"c":" 4.20"}', ['number'], '{"c":4.20}'],
  ['{"c":" 4.20"}', ['number', 'string'], '{"c":"4.20"}'],
  ['{"c":4.20}', ['number', 'string'], '{"c":"4.20"}'],
  ['{"c":"TRUE"}', ['boolean', 'array<string>'], '{"c":["true"]}'],
  ['{"c":true}', ['string'], '{"c":"true"}'],
  ['{"c":"[1, 2]"}', ['array<number>'], '{"c":[1, 2]}'],
  ['{"c":"{\\"a\\":\\n1}"}', ['json'], '{"c":{"a":1}}'],
  ['{"c":"\\"x\\""}', ['json'], '{"c":"x"}'],
  ['{"c":"null"}', ['json'], '{}'],
  ['{"c":"x"}', ['json'], '{}'],
  ['{"c":"x"}', ['number', 'string'], '{}'],
  ['{"d":"x"}', ['string'], '{}'],
])('%s under %j reads %s', (body, types, presented) => {
  expect(
    presenterOf(schemaFrom(...types), { stored: 'cells', decidedAt: 1n, wrap: false, rule: currentRule })(body),
  ).toBe(presented);
});

test('each cell is fitted to its type, and then widened with the column', () => {
  const chain = fc.array(anyType, { minLength: 1, maxLength: 3 }).map(([first, ...more]) =>
    more.reduce(
      (types, type) => {
        const last = types.at(-1)!;
        return last !== type && isAtMost(last, type) ? [...types, type] : types;
      },
      [first!],
    ),
  );
  fc.assert(
    fc.property(texts, chain, fc.boolean(), (cells, [decided, ...later], wrap) => {
      const present = presenterOf(schemaFrom(decided!, ...later), {
        stored: 'cells',
        decidedAt: 1n,
        wrap,
        rule: currentRule,
      });
      expect(bodiesOf(blockOf(cells)).map(present)).toEqual(
        cells.map((cell) => {
          const fitted = fitCell(cell, decided!, wrap, plainCells);
          if (fitted === undefined) return '{}';
          const [widened] = later.reduce(([token, from], to) => [widenToken(token, from, to), to], [
            fitted,
            decided!,
          ] as [string, ColumnType]);
          return `{"c":${widened}}`;
        }),
      );
    }),
    { numRuns: 5_000 },
  );
});

test('every text survives in a column of strings, however its block stores it', () => {
  fc.assert(
    fc.property(texts, (cells) => {
      const present = presenterOf(schemaFrom('string'), {
        stored: 'cells',
        decidedAt: 1n,
        wrap: false,
        rule: currentRule,
      });
      expect(bodiesOf(blockOf(cells)).map((body) => JSON.parse(present(body)).c)).toEqual(cells);
    }),
    { numRuns: 2_000 },
  );
});

describe('bodies are plain', () => {
  test.each<[cells: string[], types: ColumnType[], plain: boolean]>([
    [['1', '2.50'], ['number'], true],
    [['1', ' 2'], ['number'], false],
    [['1'], ['string'], false],
    [['1'], ['number', 'string'], false],
    [['1'], ['number', 'json'], true],
    [['1'], ['json'], true],
    [['1'], ['array<number>'], false],
    [['1'], ['array<json>'], false],
    [['true'], ['boolean'], true],
    [['TRUE'], ['boolean'], false],
    [['x', '1'], ['string'], true],
    [['a:b'], ['uri'], true],
    [['a:b'], ['uri', 'string'], true],
    [['a:b'], ['uri', 'json'], true],
    [['x'], ['markdown'], true],
    [['x', 'a:b'], ['uri'], false],
    [['"x"'], ['json'], false],
    [['{}'], ['json'], false],
    [['null'], ['json'], false],
    [['[1]'], ['array<number>'], false],
    [['["x"]'], ['array<string>'], false],
  ])('the bodies of %j under %j are plain: %s', (cells, types, plain) => {
    const { profile } = blockOf(cells);
    expect(holdsCells(profile)).toBe(true);
    expect(isPlain(profile, schemaFrom(...types), 1n)).toBe(plain);
  });

  test.each<[form: DelimitedForm, cells: string[], type: ColumnType, plain: boolean]>([
    [{ dateFormat: 'd.m.y' }, ['31.12.2024'], 'date', false],
    [{ dateFormat: 'd.m.y' }, ['31.12.2024 10:00'], 'dateTime', false],
    [{ dateFormat: 'd.m.y' }, ['31.12.2024'], 'string', true],
    [{ dateFormat: 'd.m.y', decimal: ',' }, ['1'], 'number', true],
    [{ decimal: ',' }, ['1.234'], 'number', false],
    [{ decimal: ',' }, ['2024-12-31'], 'date', true],
    [{ types: { c: 'string' } }, ['1'], 'string', false],
    [{ types: { c: 'number' } }, ['1'], 'number', true],
    [{ types: { c: 'number' } }, [''], 'number', true],
  ])('in the form %j, the bodies of %j under %s are plain: %s', (form, cells, type, plain) => {
    const { profile } = readCells([`c\n${cells.map((cell) => `"${cell}"\n`).join('')}`], { form }).blocks[0]!;
    expect(isPlain(profile, schemaFrom(type), 1n)).toBe(plain);
  });

  test('an empty column is in no body', () => {
    const { profile } = readCells(['c,d\n1,\n2,\n']).blocks[0]!;
    expect(isPlain(profile, schemaFrom('number'), 1n)).toBe(true);
  });

  test('are plain only if they are presented as they are stored', () => {
    let plainCount = 0;
    fc.assert(
      fc.property(texts, anyType, fc.boolean(), (cells, type, wrap) => {
        const block = blockOf(cells);
        if (!isPlain(block.profile, schemaFrom(type), 1n)) return;
        plainCount += 1;
        const bodies = bodiesOf(block);
        expect(
          bodies.map(presenterOf(schemaFrom(type), { stored: 'cells', decidedAt: 1n, wrap, rule: currentRule })),
        ).toEqual(bodies);
      }),
      { numRuns: 5_000, examples: [[['1'], 'number', false]] },
    );
    expect(plainCount).toBeGreaterThan(0);
  });
});

test('if columns adapt to their cells, the reader accepts each cell that fits, and refuses only cells that fit no type', () => {
  const counts = { taken: 0, refused: 0 };
  const before = fc.option(anyType.map((type) => schemaOf([{ id: 'c', type }], 1n)));
  fc.assert(
    fc.property(texts, before, (cells, schema) => {
      const { profile } = blockOf(cells);
      const decision = decideSchema({
        schema,
        profile,
        mode: 'updateSchema',
        version: 2n,
        columnsMax: 9,
        place: ({ row }) => `${row}`,
      });
      const presents = (cell: string, type: ColumnType): boolean =>
        fitCell(cell, type, true, plainCells) !== undefined || cell.trim() === 'null';
      if ('refusal' in decision) {
        counts.refused += 1;
        expect(currentType(schema!.columns[0]!)).toMatch(/json/);
        const row = Number(decision.refusal.message.split(':')[0]);
        expect(cells.findIndex((cell) => !presents(cell, 'array<json>'))).toBe(row);
        return;
      }
      counts.taken += 1;
      const type = currentType(findColumn(decision.schema, 'c')!);
      for (const cell of cells)
        expect([
          cell,
          type,
          fitCell(cell, type, true, plainCells) !== undefined || (cell.trim() === 'null' && /json/.test(type)),
        ]).toEqual([cell, type, true]);
      const present = presenterOf(decision.schema, { stored: 'cells', decidedAt: 2n, wrap: true, rule: currentRule });
      expect(bodiesOf(blockOf(cells)).map((body) => parseRow(present(body)).length)).toEqual(
        cells.map((cell) => (fitCell(cell, type, true, plainCells) === undefined ? 0 : 1)),
      );
    }),
    {
      numRuns: 10_000,
      examples: [
        [['a'], schemaOf([{ id: 'c', type: 'json' }], 1n)],
        [['1'], null],
      ],
    },
  );
  expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(0);
});

test('cells of parts with different forms are read by the form of each part', () => {
  const parts = ([{ decimal: ',', dateFormat: 'd.m.y' }, { decimal: '.', dateFormat: 'm/d/y' }, {}] as const).map(
    (form, at) =>
      readCells([['n;d\n1.234;1.2.2024\n', 'n;d\n1,234.5;1/2/2024\n', 'n;d\n.5;2024-01-02\n'][at]!], {
        form,
        delimiter: ';',
      }).blocks[0]!,
  );
  const profile = concatenateAll(parts.map((part) => part.profile));
  const request = { schema: null, profile, mode: 'abort', version: 1n, columnsMax: 9, place: () => '' } as const;
  const decision = decideSchema(request);
  if ('refusal' in decision) throw new Error(decision.refusal.message);
  const read = (schema: TableSchema): string[] =>
    parts.flatMap((part) =>
      bodiesOf(part).map(presenterOf(schema, { stored: 'cells', decidedAt: 1n, wrap: true, rule: part.profile.rule })),
    );
  expect(read(decision.schema)).toEqual([
    '{"n":1234,"d":"2024-02-01"}',
    '{"n":1234.5,"d":"2024-01-02"}',
    '{"n":0.5,"d":"2024-01-02"}',
  ]);
  expect(
    read(
      schemaOf(
        [
          { id: 'n', type: 'string' },
          { id: 'd', type: 'string' },
        ],
        1n,
      ),
    ),
  ).toEqual(['{"n":"1.234","d":"1.2.2024"}', '{"n":"1,234.5","d":"1/2/2024"}', '{"n":".5","d":"2024-01-02"}']);
});

test.each<
  [
    types: NonNullable<DelimitedForm['types']>,
    before: ColumnType | null,
    mode: SchemaErrorMode,
    cells: string[],
    decided: string,
  ]
>([
  [{ c: 'string' }, null, 'abort', ['1'], 'string'],
  [{ c: 'uri' }, null, 'abort', ['a:b'], 'uri'],
  [{ c: 'date' }, null, 'abort', [''], 'date'],
  [{ c: 'number' }, null, 'abort', ['1', 'x', 'y'], '1: "x" does not fit the column\'s type number'],
  [{ c: 'number' }, null, 'dropColumns', ['1', 'x'], 'number'],
  [{ c: 'array<number>' }, null, 'abort', ['[1]', '2'], 'array<number>'],
  [{ c: 'array<number>' }, null, 'abort', ['[1]', 'x'], '1: "x" does not fit the column\'s type array<number>'],
  [{ c: 'string' }, 'string', 'updateSchema', ['1'], 'string'],
  [{ c: 'number' }, 'number', 'updateSchema', ['x'], '0: "x" does not fit the column\'s type number'],
  [
    { c: 'string' },
    'number',
    'updateSchema',
    ['1'],
    '0: the request says that the column has the type string, but it has the type number',
  ],
  [
    { c: 'string' },
    'number',
    'abort',
    ['1'],
    '0: the request says that the column has the type string, but it has the type number',
  ],
  [
    { c: 'string' },
    'number',
    'dropColumns',
    ['1'],
    '0: the request says that the column has the type string, but it has the type number',
  ],
])('with the types %j a column of %s comes, under %s, with %j to %s', (types, before, mode, cells, decided) => {
  const { profile } = readCells([`c\n${cells.map((cell) => `"${cell}"\n`).join('')}`], { form: { types } }).blocks[0]!;
  const schema = before === null ? null : schemaOf([{ id: 'c', type: before }], 1n);
  const decision = decideSchema({ schema, profile, mode, version: 2n, columnsMax: 9, place: ({ row }) => `${row}` });
  expect('refusal' in decision ? decision.refusal.message : currentType(findColumn(decision.schema, 'c')!)).toBe(
    decided,
  );
});

test('a type that one part states applies to the others', () => {
  const partsOf = (cells: string, form: DelimitedForm): Profile =>
    readCells([`c\n${cells}\n`], { form }).blocks[0]!.profile;
  const said = partsOf('1', { types: { c: 'string' } });
  for (const parts of [
    [said, partsOf('2', {})],
    [partsOf('2', {}), said],
  ]) {
    const decision = decideSchema({
      schema: null,
      profile: concatenateAll(parts),
      mode: 'abort',
      version: 1n,
      columnsMax: 9,
      place: () => '',
    });
    expect('refusal' in decision || currentType(decision.schema.columns[0]!)).toBe('string');
  }
});
