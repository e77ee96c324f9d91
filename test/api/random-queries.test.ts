/**
 * Random queries on random tables have the answers that an evaluator over the presented rows has
 * (docs/spec/queries.md).
 */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { itemOf, typeInSchema, type Json } from '../support/column-types.ts';
import { fc } from '../support/property.ts';
import { groups, isOrdered, meets, sorted, type QueriedRow, type Types } from '../support/query-model.ts';
import { limitMs } from '../support/time-limits.ts';
import { values } from '../support/type-samples.ts';
import { scale } from '../scale.ts';

const { client: clientOfAll, api } = useApi();

/** One process, because only the process that gave a continuation knows it. */
const client = (): Client => new Client(api().url, clientOfAll().token);

const scalars = Object.keys(values);
const columnType = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...scalars) },
  fc.constantFrom(...scalars).map((kind) => `array<${kind}>`),
);
const fitOf = (type: string): readonly Json[] => values[type]!.fit;

/** The value as a column of this type presents it. */
const presented = (value: Json, type: string): Json =>
  (type === 'string' || type === 'markdown') && typeof value !== 'string' ? JSON.stringify(value) : value;

const cellOf = (type: string): fc.Arbitrary<Json> => {
  const item = itemOf(type);
  return item === null ? fc.constantFrom(...fitOf(type)) : fc.array(fc.constantFrom(...fitOf(item)), { maxLength: 3 });
};

const rowOf = (types: Types): fc.Arbitrary<QueriedRow> =>
  fc.record(Object.fromEntries(Object.entries(types).map(([id, type]) => [id, cellOf(type)])), {
    requiredKeys: [],
  }) as fc.Arbitrary<QueriedRow>;

const comparisonOf = (column: string, type: string): fc.Arbitrary<unknown> => {
  const item = itemOf(type);
  const cell = cellOf(type).map((value) =>
    item === null ? presented(value, type) : (value as readonly Json[]).map((one) => presented(one, item)),
  );
  const simple = fc.record({ column: fc.constant(column), op: fc.constantFrom('eq', 'ne'), value: cell });
  const empty = fc.record({ column: fc.constant(column), op: fc.constantFrom('isEmpty', 'isNotEmpty') });
  if (item !== null) {
    return fc.oneof(
      simple,
      empty,
      fc.record({
        column: fc.constant(column),
        op: fc.constant('has'),
        value: fc.constantFrom(...fitOf(item)).map((one) => presented(one, item)),
      }),
    );
  }
  if (!isOrdered(type)) return fc.oneof(simple, empty);
  const ordered = fc.record({
    column: fc.constant(column),
    op: fc.constantFrom('lt', 'lte', 'gt', 'gte'),
    value: cell,
  });
  const among = fc.record({
    column: fc.constant(column),
    op: fc.constant('in'),
    value: fc.array(cell, { maxLength: 3 }),
  });
  if (['number', 'boolean', 'date', 'time', 'dateTime'].includes(type)) return fc.oneof(simple, empty, ordered, among);
  const part = fc
    .tuple(cell, fc.nat(4), fc.nat(6))
    .map(([text, from, count]) => [...(text as string)].slice(from, from + count).join(''));
  const ofText = fc.record(
    {
      column: fc.constant(column),
      op: fc.constantFrom('contains', 'startsWith', 'endsWith'),
      value: part,
      ignoreCase: fc.boolean(),
    },
    { requiredKeys: ['column', 'op', 'value'] },
  );
  return fc.oneof(simple, empty, ordered, among, ofText);
};

const filterOf = (types: Types): fc.Arbitrary<unknown> =>
  fc.letrec((tie) => ({
    filter: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(...Object.entries(types)).chain(([column, type]) => comparisonOf(column, type)),
      fc.record({ and: fc.array(tie('filter'), { maxLength: 3 }) }),
      fc.record({ or: fc.array(tie('filter'), { maxLength: 3 }) }),
      fc.record({ not: tie('filter') }),
    ),
  })).filter;

const keysOf = (ids: readonly string[], maxLength: number): fc.Arbitrary<string[]> =>
  ids.length === 0 ? fc.constant([]) : fc.uniqueArray(fc.constantFrom(...ids), { maxLength });

const queryOf = (types: Types) => {
  const ordered = Object.keys(types).filter((id) => isOrdered(types[id]!));
  const numbers = ordered.filter((id) => types[id] === 'number');
  const functions: fc.Arbitrary<object>[] = [
    fc.constant({ op: 'count' }),
    fc.record({ op: fc.constantFrom('count', 'countDistinct'), column: fc.constantFrom(...Object.keys(types)) }),
    ...(ordered.length === 0
      ? []
      : [fc.record({ op: fc.constantFrom('min', 'max'), column: fc.constantFrom(...ordered) })]),
    ...(numbers.length === 0
      ? []
      : [fc.record({ op: fc.constantFrom('sum', 'avg'), column: fc.constantFrom(...numbers) })]),
  ];
  return fc.record({
    filter: filterOf(types),
    sort: keysOf(ordered, 3).chain((ids) =>
      fc.tuple(...ids.map((id) => fc.boolean().map((down) => (down ? `-${id}` : id)))),
    ),
    limit: fc.integer({ min: 1, max: 30 }),
    groupBy: keysOf(ordered, 2),
    aggregate: fc
      .array(fc.oneof(...functions), { minLength: 1, maxLength: 3 })
      .map((all) => all.map((one, at) => ({ ...one, as: `value${at}` }))),
  });
};

/** What happens to the table between two queries. */
type Write =
  | { readonly kind: 'add'; readonly rows: readonly QueriedRow[] }
  | { readonly kind: 'patch'; readonly at: number; readonly row: QueriedRow }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'overwrite'; readonly rows: readonly QueriedRow[]; readonly kept: readonly number[] }
  | { readonly kind: 'widen' | 'drop'; readonly id: string; readonly value: Json };

const writeOf = (types: Types): fc.Arbitrary<Write> =>
  fc.oneof(
    fc.record({ kind: fc.constant('add' as const), rows: fc.array(rowOf(types), { minLength: 1, maxLength: 8 }) }),
    fc.record({ kind: fc.constant('patch' as const), at: fc.nat(), row: rowOf(types) }),
    fc.record({ kind: fc.constant('delete' as const), at: fc.nat() }),
    fc.record({
      kind: fc.constant('overwrite' as const),
      rows: fc.array(rowOf(types), { maxLength: 8 }),
      kept: fc.array(fc.nat(), { maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('widen' as const),
      id: fc.constantFrom(...Object.keys(types), 'new'),
      value: fc.constantFrom<Json>('any text', 17, true, ['x'], { a: 1 }),
    }),
    fc.record({
      kind: fc.constant('drop' as const),
      id: fc.constantFrom(...Object.keys(types)),
      value: fc.constantFrom<Json>('any text', 17, { a: 1 }),
    }),
  );

async function allRows(reader: Client, path: string): Promise<(QueriedRow & { readonly $rowID: string })[]> {
  return (await reader.get(path)).json.data;
}

async function typesOf(reader: Client, path: string): Promise<Types> {
  const { columns } = (await reader.get(path.replace(/\/rows$/, ''))).json.data.schema;
  return Object.fromEntries(
    columns.map(({ id, type }: { id: string; type: string | { items: { kind: string } } }) => [
      id,
      typeof type === 'string' ? type : `array<${type.items.kind}>`,
    ]),
  );
}

const sample = fc.dictionary(fc.constantFrom('a', 'A', 'b', '__proto__x', 'with "quotes"'), columnType, {
  minKeys: 1,
  maxKeys: 4,
});

test(
  'random queries have the results of the model',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        sample.chain((types) =>
          fc.record({
            types: fc.constant(types),
            rows: fc.array(rowOf(types), { maxLength: 40 }),
            seed: fc.nat(),
            writes: fc.array(fc.array(writeOf(types), { minLength: 1, maxLength: 4 }), { maxLength: 4 }),
          }),
        ),
        async ({ types: given, rows, seed, writes }) => {
          const reader = client();
          const schema = { columns: Object.entries(given).map(([id, type]) => ({ id, type: typeInSchema(type) })) };
          const created = await reader.post('/tables', { name: 'random', schema, rows });
          expect(outcomeOf(created)).toBe('201');
          const path = `/tables/${created.json.data.tableID}/rows`;
          await compare(reader, path, seed);
          for (const [n, some] of writes.entries()) {
            for (const write of some) await apply(reader, path, write);
            await compare(reader, path, seed + n);
          }
        },
      ),
      { numRuns: 1_000_000, timeLimit: scale.queriesMs },
    );
  },
  limitMs(scale.queriesMs + 600_000),
);

async function apply(reader: Client, path: string, write: Write): Promise<void> {
  const rows = await allRows(reader, path);
  const rowAt = (at: number): string | undefined => rows[at % Math.max(rows.length, 1)]?.$rowID;
  // A refused change (a value that does not fit a widened column) has no effect.
  switch (write.kind) {
    case 'add':
      await reader.post(`${path}?onSchemaError=dropColumns`, write.rows);
      break;
    case 'patch':
      if (rows.length > 0)
        await reader.send(`${path}/${rowAt(write.at)}?onSchemaError=dropColumns`, { method: 'PATCH', body: write.row });
      break;
    case 'delete':
      if (rows.length > 0) await reader.send(`${path}/${rowAt(write.at)}`, { method: 'DELETE' });
      break;
    case 'overwrite': {
      const kept = [...new Set(write.kept.map(rowAt))];
      const given = write.rows.map((row, at) => (kept[at] === undefined ? row : { ...row, $rowID: kept[at] }));
      await reader.send(`${path.replace(/\/rows$/, '')}?onSchemaError=dropColumns`, {
        method: 'PUT',
        body: { rows: given },
      });
      break;
    }
    case 'widen':
      await reader.post(`${path}?onSchemaError=updateSchema`, [{ [write.id]: write.value }]);
      break;
    case 'drop':
      await reader.post(`${path}?onSchemaError=dropColumns`, [{ [write.id]: write.value }]);
      break;
  }
}

/** Asks a few random queries. */
async function compare(reader: Client, path: string, seed: number): Promise<void> {
  const [rows, types] = await Promise.all([allRows(reader, path), typesOf(reader, path)]);
  for (const { filter, sort, limit, groupBy, aggregate } of fc.sample(queryOf(types), { seed, numRuns: 3 })) {
    const expected = rows.filter((row) => meets(row, filter, types));
    const query = { filter, sort, count: 'exact' };
    const target = path.replace(/rows$/, 'query');
    const found: QueriedRow[] = [];
    for (let continuation: string | undefined; ;) {
      const answer = await reader.post(
        target,
        continuation === undefined ? { ...query, limit } : { continuation, limit },
      );
      expect([answer.status, answer.headers.get('tablog-count'), answer.text]).toEqual([
        200,
        String(expected.length),
        expect.anything(),
      ]);
      found.push(...answer.json.data);
      if ((continuation = answer.json.continuation) === undefined) break;
    }
    expect({ query, found }).toEqual({ query, found: sorted(expected, sort, types) });
    await checkVersions(reader, path, filter);
    const grouped = await reader.post(target, { filter, groupBy, aggregate });
    const byText = (group: object): string =>
      JSON.stringify(groupBy.map((id) => (group as Record<string, unknown>)[id]));
    const inOrder = (all: readonly Record<string, Json>[]): Record<string, Json>[] =>
      all.toSorted((a, b) => (byText(a) < byText(b) ? -1 : 1)).map(rounded);
    expect({ filter, groupBy, aggregate, data: inOrder(grouped.json.data) }).toEqual({
      filter,
      groupBy,
      aggregate,
      data: inOrder(groups(expected, groupBy, aggregate as never, types)),
    });
  }
}

/**
 * Checks that the shown versions are those of the rows: If-Match succeeds with a shown version, and fails with an
 * earlier one.
 */
async function checkVersions(reader: Client, path: string, filter: unknown): Promise<void> {
  const { json } = await reader.post(path.replace(/rows$/, 'query'), { filter, fields: ['$version'], limit: 3 });
  for (const { $rowID, $version } of json.data as readonly { readonly $rowID: string; readonly $version: string }[]) {
    const patch = (version: bigint): Promise<Answer> =>
      reader.send(`${path}/${$rowID}`, { method: 'PATCH', body: {}, headers: { 'if-match': `"${version}"` } });
    expect([(await patch(BigInt($version))).status, (await patch(BigInt($version) - 1n)).status]).toEqual([200, 412]);
  }
}

/**
 * Rounds numbers, because a sum of floating-point numbers depends on their order: in its last digits, or, where they
 * cancel out, in a tiny rest instead of zero.
 */
function rounded(group: Readonly<Record<string, Json>>): Record<string, Json> {
  const round = (value: number): number => (Math.abs(value) < 1e-6 ? 0 : Number(value.toPrecision(12)));
  return Object.fromEntries(
    Object.entries(group).map(([name, value]) => [name, typeof value === 'number' ? round(value) : value]),
  );
}
