/** Keys of tables (docs/spec/decisions.md 2, "Keys"). */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { csv } from '../support/media-types.ts';
import { fc } from '../support/property.ts';
import { stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged, schemaOf, type MadeTable } from '../support/tables.ts';

const { client } = useApi();
const types = { email: 'string', age: 'number', born: 'date' };
const twice = '409 key_not_unique';

/** A table whose key is the column `email`, with these rows. */
async function keyedTable(rows: readonly unknown[], key: readonly string[] = ['email']): Promise<MadeTable> {
  const answer = await client().post('/tables', { name: 'people', schema: { ...schemaOf(types), key }, rows });
  if (answer.status !== 201) throw new Error(answer.text);
  const { tableID: id, rowIDs: rowIds } = answer.json.data;
  return { id, path: `/tables/${id}/rows`, rowIds, version: answer.version! };
}

/** Rows for this many people. */
const people = (count: number, first = 0): { email: string }[] =>
  Array.from({ length: count }, (_, n) => ({ email: `${first + n}@example.org` }));

const messageOf = ({ json }: Answer): string => json.error.message;

describe('a key', () => {
  test('is shown with the schema, and that schema can create another table', async () => {
    const { id } = await keyedTable([]);
    const { schema } = (await client().get(`/tables/${id}`)).json.data;
    expect(schema).toEqual({ ...schemaOf(types), key: ['email'] });
    const copy = await client().post('/tables', { name: 'copy', schema, rows: [{ email: 'a' }, { email: 'a' }] });
    expect(outcomeOf(copy)).toBe(twice);
  });

  test('is declared for rows with different keys, and removed', async () => {
    const table = await createTable(client(), [{ email: 'a' }, { email: 'b' }, { age: 1 }, { age: 1 }], types);
    const declared = await client().patch(`/tables/${table.id}`, { key: ['email'] });
    expect([outcomeOf(declared), declared.version! > table.version]).toEqual(['200', true]);
    expect((await client().patch(`/tables/${table.id}`, { key: ['email'] })).version).toBe(declared.version);
    expect(outcomeOf(await client().post(table.path, [{ email: 'b' }]))).toBe(twice);
    expect(outcomeOf(await client().patch(`/tables/${table.id}`, { key: null }))).toBe('200');
    expect(outcomeOf(await client().post(table.path, [{ email: 'b' }]))).toBe('201');
    expect((await client().get(`/tables/${table.id}`)).json.data.schema).toEqual(schemaOf(types));
  });

  test('is declared for many rows while others write: to another table of the partition, and to this one', async () => {
    const other = await keyedTable([{ email: 'a' }]);
    const table = await createTable(client(), people(20_000), types);
    let isAnswered = false;
    const declaring = client()
      .patch(`/tables/${table.id}`, { key: ['email'] })
      .finally(() => {
        isAnswered = true;
      });
    let written = 0;
    for (; !isAnswered; written += 1) {
      const [row] = other.rowIds;
      expect(outcomeOf(await client().patch(`${other.path}/${row}`, { age: written }))).toBe('200');
      const added = { email: `added${written}@example.org` };
      expect(outcomeOf(await client().post(table.path, [added]))).toBe('201');
      expect(outcomeOf(await client().patch(`${table.path}/${table.rowIds[written]}`, { age: written }))).toBe('200');
    }
    expect(outcomeOf(await declaring)).toBe('200');
    // If the declaration blocked the partition, the first of them would be answered after the declaration.
    expect(written).toBeGreaterThan(2);
    for (const email of ['0@example.org', '19999@example.org', 'added0@example.org', `added${written - 1}@example.org`])
      expect(outcomeOf(await client().post(table.path, [{ email }]))).toBe(twice);
    expect(outcomeOf(await client().post(table.path, [{ email: 'new' }]))).toBe('201');
  });

  test('is not declared for many rows of which two are equal', async () => {
    const table = await createTable(client(), [...people(3000), { email: '5@example.org' }], types);
    const refused = await client().patch(`/tables/${table.id}`, { key: ['email'] });
    expect([outcomeOf(refused), messageOf(refused)]).toEqual([
      twice,
      `row ${table.rowIds[3000]}: row ${table.rowIds[5]} has the same key, "email" = "5@example.org"`,
    ]);
    const stale = await client().patch(`/tables/${table.id}`, { key: ['email'] }, { 'if-match': '"1"' });
    expect(outcomeOf(stale)).toBe('412 precondition_failed');
  });

  test('is checked in its own columns, even after another declaration was refused', async () => {
    const table = await createTable(
      client(),
      [
        { email: 'a', age: 1 },
        { email: 'b', age: 1 },
        { email: 'b', age: 2 },
      ],
      types,
    );
    const declare = async (...key: readonly string[]): Promise<Answer> =>
      client().patch(`/tables/${table.id}`, { key });
    expect(outcomeOf(await declare('age'))).toBe(twice);
    expect(outcomeOf(await declare('age', 'email'))).toBe('200');
    expect(outcomeOf(await client().patch(`/tables/${table.id}`, { key: null }))).toBe('200');
    expect(outcomeOf(await declare('email'))).toBe(twice);
    await client().delete(`${table.path}/${table.rowIds[1]}`);
    expect(outcomeOf(await declare('age'))).toBe('200');
    expect(outcomeOf(await client().post(table.path, [{ age: 2 }]))).toBe(twice);
  });

  test('stays if one of its columns is given its present type, and cannot be declared with dryRun', async () => {
    const table = await keyedTable([{ email: 'a' }]);
    const path = `/tables/${table.id}`;
    const named = { columns: [{ id: 'email', displayName: 'E-mail', type: 'string' }] };
    expect(outcomeOf(await client().patch(path, named))).toBe('200');
    expect(outcomeOf(await client().patch(`${path}?dryRun=true`, { remove: ['email'] }))).toBe(
      '400 request_validation_error',
    );
    expect(outcomeOf(await client().patch(`${path}?dryRun=true`, { key: ['age'] }))).toBe(
      '400 request_validation_error',
    );
  });

  test('is refused if two rows have the same values, and the message names both rows', async () => {
    const table = await createTable(
      client(),
      [{ email: 'a', age: 1 }, { email: 'b' }, { email: 'a', age: 1.0 }],
      types,
    );
    const [first, , third] = table.rowIds;
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().patch(`/tables/${table.id}`, { key: ['email', 'age'] });
      expect(outcomeOf(answer)).toBe(twice);
      expect(messageOf(answer)).toBe(`row ${third}: row ${first} has the same key, "email" = "a", "age" = 1`);
    });
  });

  test.each<[string, unknown, string]>([
    ['an unknown column', ['nobody'], '422 column_id_not_found'],
    ['a column twice', ['email', 'email'], '422 column_id_not_unique'],
    ['no column', [], '400 request_validation_error'],
    ['a text', 'email', '400 request_validation_error'],
  ])('names columns of the table: %s is refused', async (_, key, outcome) => {
    const table = await createTable(client(), [], types);
    expect(outcomeOf(await client().patch(`/tables/${table.id}`, { key }))).toBe(outcome);
    const body = { name: 'x', schema: { ...schemaOf(types), key }, rows: [] };
    expect(outcomeOf(await client().post('/tables', body))).toBe(outcome);
  });
});

describe('a write that would give two rows the same key changes nothing', () => {
  test.each<[string, (table: MadeTable) => Promise<Answer>]>([
    ['a row', ({ path }) => client().post(path, [{ email: 'new' }, { email: 'a' }])],
    ['a patch', ({ path, rowIds }) => client().patch(`${path}/${rowIds[1]}`, { email: 'a' })],
    ['a body with rows that are equal', ({ path }) => client().post(path, [{ email: 'new' }, { email: 'new' }])],
    ['CSV', ({ path }) => client().post(path, 'age,email\n1,new\n2,a\n', csv)],
    ['a block', ({ path }) => client().post(path, [...people(500), { email: 'a' }])],
    ['a large body', ({ path }) => client().post(path, [...people(25_000), { email: 'a' }])],
    ['a large body with rows that are equal', ({ path }) => client().post(path, [...people(25_000), ...people(1)])],
    ['an overwrite', ({ id }) => client().put(`/tables/${id}`, [{ email: 'x' }, { email: 'x' }])],
    ['a large overwrite', ({ id }) => client().put(`/tables/${id}`, [...people(25_000), ...people(1)])],
    [
      'a stash',
      async ({ path }) =>
        client().post(path, { $stashID: await stashOf(client(), { 1: people(3), 2: [{ email: 'a' }] }) }),
    ],
  ])('%s is refused', async (_, write) => {
    const table = await keyedTable([{ email: 'a' }, { email: 'b' }]);
    await leavingUnchanged(client(), table.path, async () => {
      expect(outcomeOf(await write(table))).toBe(twice);
    });
  });

  test('the refusal names the rows, the columns and the values', async () => {
    const table = await keyedTable([{ email: 'a' }, { email: 'b' }]);
    const [a, b] = table.rowIds;
    const same = (id: string): string => `row ${id} has the same key, "email" =`;
    expect(messageOf(await client().post(table.path, [{}, { email: 'b' }]))).toBe(`rows[1]: ${same(b!)} "b"`);
    expect(messageOf(await client().patch(`${table.path}/${b}`, { email: 'a' }))).toBe(`row ${b}: ${same(a!)} "a"`);
    const large = await client().post(table.path, [...people(25_000), { email: 'a' }]);
    expect(messageOf(large)).toBe(`rows[25000]: ${same(a!)} "a"`);
    const stash = await stashOf(client(), { 7: people(2), 8: [{}, { email: 'b' }] });
    expect(messageOf(await client().post(table.path, { $stashID: stash }))).toBe(`chunk 8, rows[1]: ${same(b!)} "b"`);
  });
});

describe('a key that one kind of write has taken is refused to all other kinds', () => {
  test.each<[string, (table: MadeTable) => Promise<Answer>]>([
    ['a row', ({ path }) => client().post(path, people(1))],
    ['a block', ({ path }) => client().post(path, people(500))],
    ['a large body', ({ path }) => client().post(path, people(25_000))],
    ['a stash', async ({ path }) => client().post(path, { $stashID: await stashOf(client(), { 1: people(3) }) })],
    ['an overwrite', ({ id }) => client().put(`/tables/${id}`, people(2))],
    ['a large overwrite', ({ id }) => client().put(`/tables/${id}`, people(25_000))],
    ['a patch', ({ path, rowIds }) => client().patch(`${path}/${rowIds[0]}`, people(1)[0])],
  ])('the key that came by %s is refused to others', async (_, write) => {
    const table = await keyedTable([{ email: 'a' }]);
    expect((await write(table)).status).toBeLessThan(300);
    const holder = (await client().rows(table.id)).find(({ email }) => email === '0@example.org');
    for (const again of [people(1), [...people(25_000, 1_000_000), ...people(1)]]) {
      const answer = await client().post(table.path, again);
      expect(outcomeOf(answer)).toBe(twice);
      expect(messageOf(answer)).toContain(`: row ${String(holder!['$rowID'])} has the same key`);
    }
    expect(outcomeOf(await client().delete(`${table.path}/${String(holder!['$rowID'])}`))).toBe('200');
    expect(outcomeOf(await client().post(table.path, people(1)))).toBe('201');
  });
});

test('an overwrite keeps the IDs of rows, and refusals name these IDs', async () => {
  const table = await keyedTable([{ email: 'a' }, { email: 'b' }]);
  const [a, b] = table.rowIds;
  await client().put(`/tables/${table.id}`, [
    { $rowID: b, email: 'b' },
    { $rowID: a, email: 'c' },
  ]);
  expect(messageOf(await client().post(table.path, [{ email: 'c' }]))).toContain(`row ${a} has`);
  expect(outcomeOf(await client().patch(`${table.path}/${a}`, { email: 'a' }))).toBe('200');
  expect(messageOf(await client().post(table.path, [{ email: 'a' }]))).toContain(`row ${a} has`);
});

test('the type of a key column stays, and other columns are widened', async () => {
  const table = await keyedTable([{ email: 'a', age: 1 }], ['age']);
  const path = `${table.path}?onSchemaError=updateSchema`;
  expect(outcomeOf(await client().post(path, [{ age: 'old' }]))).toBe('422 column_has_invalid_value');
  expect(outcomeOf(await client().post(path, [{ age: 2, born: 'once' }]))).toBe('201');
});

test('each key is taken by only one of the writes that arrive together', async () => {
  const words = fc.constantFrom('a', 'b', 'c', 'd');
  const cells = fc.record({ email: fc.option(words, { nil: null }), age: fc.constantFrom(1, 2) });
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), rows: fc.array(cells, { minLength: 1, maxLength: 2 }) }),
    fc.record({ kind: fc.constant('patch' as const), row: fc.nat(9), cells }),
    fc.record({
      kind: fc.constant('patchOne' as const),
      row: fc.nat(9),
      cells: fc.oneof(fc.record({ email: words }), fc.record({ age: fc.constantFrom(1, 2) })),
    }),
    fc.record({ kind: fc.constant('delete' as const), row: fc.nat(9) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const first = [{ email: 'a', age: 1 }, { email: 'b', age: 1 }, { email: 'c', age: 2 }, { age: 1 }];
      const { path, id, rowIds } = await keyedTable(first, ['email', 'age']);
      const answers = await Promise.all(
        steps.map((each) => {
          if (each.kind === 'add') return client().post(path, each.rows);
          const row = `${path}/${rowIds[each.row % rowIds.length]}`;
          return each.kind === 'delete' ? client().delete(row) : client().patch(row, each.cells);
        }),
      );
      for (const answer of answers) expect(['200', '201', '404 row_not_found', twice]).toContain(outcomeOf(answer));
      const keys = cellsOf(await client().rows(id)).flatMap(({ email, age }) =>
        typeof email === 'string' && typeof age === 'number' ? [`${email} ${age}`] : [],
      );
      expect(new Set(keys).size).toBe(keys.length);
      // The index contains exactly these keys.
      for (const email of ['a', 'b', 'c', 'd']) {
        for (const age of [1, 2]) {
          const isTaken = keys.includes(`${email} ${age}`);
          expect(outcomeOf(await client().post(path, [{ email, age }]))).toBe(isTaken ? twice : '201');
        }
      }
    }),
    { numRuns: 15 },
  );
});

describe('a filter by the key reads the rows by a look-up', () => {
  const isLookUp = ({ headers }: Answer): boolean => !headers.has('tablog-cache');
  const eq = (column: string, value: unknown): object => ({ column, op: 'eq', value });

  test.each<[string, readonly string[], object, readonly number[]]>([
    ['of one value', ['email'], eq('email', 'b'), [1]],
    ['of a value that no row has', ['email'], eq('email', 'x'), []],
    [
      'of several values, in the order of the table',
      ['email'],
      { column: 'email', op: 'in', value: ['c', 'a', 'x', 'c'] },
      [0, 2],
    ],
    ['of no value', ['email'], { column: 'email', op: 'in', value: [] }, []],
    ['of all columns', ['age', 'email'], { and: [eq('email', 'b'), eq('age', 2.0)] }, [1]],
    ['of a date', ['born'], eq('born', '1815-12-10'), [0]],
  ])('a filter %s finds the rows of the index', async (_, key, filter, expected) => {
    const rows = [
      { email: 'a', age: 1, born: '1815-12-10' },
      { email: 'b', age: 2 },
      { email: 'c', age: 3 },
    ];
    const { id, path, rowIds } = await keyedTable(rows, key);
    const found = await client().get(`${path}?filter=${encodeURIComponent(JSON.stringify(filter))}`);
    expect(found.json.data).toEqual(expected.map((row) => ({ $rowID: rowIds[row], ...rows[row] })));
    expect([isLookUp(found), found.version]).toEqual([true, (await client().head(path)).version]);
    const posted = await client().post(`/tables/${id}/query`, { filter, count: 'exact' });
    const { headers } = posted;
    expect([posted.json, isLookUp(posted), headers.get('tablog-count')]).toEqual([
      found.json,
      true,
      String(expected.length),
    ]);
    const unkeyed = await createTable(client(), rows, types);
    const asked = await client().get(`${unkeyed.path}?filter=${encodeURIComponent(JSON.stringify(filter))}`);
    expect([isLookUp(asked), cellsOf(asked.json.data)]).toEqual([false, cellsOf(found.json.data)]);
  });

  test('finds rows as they are now: patched, widened, kept by an overwrite, or under a new key', async () => {
    const { id, path, rowIds } = await keyedTable([
      { email: 'a', age: 1 },
      { email: 'b', age: 2 },
    ]);
    const find = async (column: string, value: unknown): Promise<unknown> =>
      (await client().get(`${path}?filter=${encodeURIComponent(JSON.stringify(eq(column, value)))}`)).json.data;
    await client().patch(`${path}/${rowIds[0]}`, { email: 'c' });
    await client().post(`${path}?onSchemaError=updateSchema`, [{ email: 'd', age: 'old' }]);
    expect(await find('email', 'c')).toEqual([{ $rowID: rowIds[0], email: 'c', age: '1' }]);
    expect(await find('email', 'a')).toEqual([]);
    await client().put(`/tables/${id}`, [{ email: 'b', $rowID: rowIds[0] }]);
    expect(await find('email', 'b')).toEqual([{ $rowID: rowIds[0], email: 'b' }]);
    await client().patch(`/tables/${id}`, { key: ['age'] });
    expect(await find('email', 'b')).toEqual([{ $rowID: rowIds[0], email: 'b' }]);
    await client().delete(`${path}/${rowIds[0]}`);
    expect(await find('email', 'b')).toEqual([]);
  });

  test('has the same errors as other filters', async () => {
    const { path } = await keyedTable([]);
    const wrong = encodeURIComponent(JSON.stringify(eq('nobody', 1)));
    expect(outcomeOf(await client().get(`${path}?filter=${wrong}`))).toBe('422 column_id_not_found');
  });
});

test('each operation of a batch sees the keys that earlier operations took and gave up', async () => {
  const { id, path, rowIds } = await keyedTable(
    [
      { email: 'a', age: 1 },
      { email: 'b', age: 1 },
    ],
    ['email', 'age'],
  );
  const [a, b] = rowIds;
  const batch = (operations: readonly object[]): Promise<Answer> =>
    client().post(`/tables/${id}/batch`, { operations });
  const swapped = await batch([
    { op: 'patch', rowID: a, row: { age: 2 } },
    { op: 'patch', rowID: b, row: { email: 'a' } },
    { op: 'patch', rowID: a, row: { email: 'b' } },
    { op: 'add', row: { email: 'b', age: 1 } },
  ]);
  expect(outcomeOf(swapped)).toBe('200');
  const refused = await leavingUnchanged(client(), path, () =>
    batch([
      { op: 'delete', rowID: a },
      { op: 'add', row: { email: 'b', age: 2 } },
      { op: 'add', row: { email: 'a', age: 1 } },
    ]),
  );
  expect(outcomeOf(refused)).toBe(twice);
  expect(messageOf(refused)).toMatch(/^operations\[2\].row: row .* has the same key/);
});
