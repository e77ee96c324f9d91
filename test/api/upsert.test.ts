/** Upserts by the key of a table: `mode=upsert`, and the operation of a batch (docs/spec/upsert.md). */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { csv, ndjson, tsv } from '../support/media-types.ts';
import { fc } from '../support/property.ts';
import { stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged, schemaOf, type MadeTable } from '../support/tables.ts';

const { client } = useApi();
const types = { email: 'string', age: 'number', born: 'date' };
const rows = [{ email: 'a', age: 1 }, { email: 'b', age: 2 }, { age: 3 }];

/** A table whose key is the column `email`, with these rows. */
async function keyedTable(): Promise<MadeTable> {
  const answer = await client().post('/tables', {
    name: 'people',
    schema: { ...schemaOf(types), key: ['email'] },
    rows,
  });
  if (answer.status !== 201) throw new Error(answer.text);
  const { tableID: id, rowIDs: rowIds } = answer.json.data;
  return { id, path: `/tables/${id}/rows`, rowIds, version: answer.version! };
}

const upsert = ({ path }: MadeTable, body: unknown, headers: Record<string, string> = {}, more = ''): Promise<Answer> =>
  client().post(`${path}?mode=upsert${more}`, body as never, headers);
const counts = ({ headers }: Answer): string | null => headers.get('tablog-rows');

describe('mode=upsert', () => {
  test('patches the rows with the same keys, adds the others, and answers with all row IDs in order', async () => {
    const table = await keyedTable();
    const [a, b] = table.rowIds;
    const answer = await upsert(table, [
      { email: 'c', age: 4 },
      { email: 'b', born: '2000-01-01' },
      { email: 'a', age: null },
      { email: 'c', age: null },
      { email: 'b' },
      { age: 5 },
    ]);
    expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=2, patched=3, unchanged=1, deleted=0']);
    const listed = await client().rows(table.id);
    expect(cellsOf(listed)).toEqual([
      { email: 'a' },
      { email: 'b', age: 2, born: '2000-01-01' },
      { age: 3 },
      { email: 'c' },
      { age: 5 },
    ]);
    const [c, last] = listed.slice(3).map(({ $rowID }) => $rowID);
    expect(answer.json.data.rowIDs).toEqual([c, b, a, c, b, last]);
    expect((await client().get(`${table.path}/${b}`)).version).toBe(answer.version);
    expect((await client().get(`${table.path}/${table.rowIds[2]}`)).version).toBe(table.version);
  });

  test.each<[string, string, Record<string, string>]>([
    ['CSV', 'email,age\nb,\nc,4\n', csv],
    ['TSV', 'email\tage\nb\t\nc\t4\n', tsv],
    ['NDJSON', '{"email":"b","age":null}\n{"email":"c","age":4}\n', ndjson],
    ['an object', '{"rows":[{"email":"b","age":null},{"email":"c","age":4}]}', { 'content-type': 'application/json' }],
  ])('takes %s, and empties a cell by an empty one', async (_, body, headers) => {
    const table = await keyedTable();
    const answer = await upsert(table, body, headers);
    expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=1, patched=1, unchanged=0, deleted=0']);
    expect(cellsOf(await client().rows(table.id))).toEqual([
      { email: 'a', age: 1 },
      { email: 'b' },
      { age: 3 },
      { email: 'c', age: 4 },
    ]);
  });

  test('that changes nothing has the version of the table', async () => {
    const table = await keyedTable();
    const answer = await upsert(table, [{ email: 'a', age: 1.0 }, { email: 'b' }]);
    expect([counts(answer), answer.version]).toEqual(['added=0, patched=0, unchanged=2, deleted=0', table.version]);
    expect(answer.json.data.rowIDs).toEqual(table.rowIds.slice(0, 2));
  });

  test('takes thousands of rows, of which some exist', async () => {
    const table = await keyedTable();
    const people = (count: number, age: number): object[] =>
      Array.from({ length: count }, (_, n) => ({ email: `${n}@example.org`, age }));
    const first = await upsert(table, people(3000, 1));
    expect(counts(first)).toBe('added=3000, patched=0, unchanged=0, deleted=0');
    const second = await upsert(table, people(5000, 2));
    expect(counts(second)).toBe('added=2000, patched=3000, unchanged=0, deleted=0');
    expect(second.json.data.rowIDs.slice(0, 3000)).toEqual(first.json.data.rowIDs);
    const listed = await client().get(`${table.path}?limit=10000`);
    expect(listed.json.data.slice(3).map(({ $rowID }: { $rowID: string }) => $rowID)).toEqual(second.json.data.rowIDs);
    expect(listed.json.data.slice(3).every(({ age }: { age: number }) => age === 2)).toBe(true);
  });

  test('refuses more rows than fit into one request, and a stash', async () => {
    const table = await keyedTable();
    await leavingUnchanged(client(), table.path, async () => {
      const many = await upsert(
        table,
        Array.from({ length: 10_001 }, (_, n) => ({ email: String(n) })),
      );
      expect([outcomeOf(many), many.json.error.message]).toEqual([
        '400 limit_exceeded',
        expect.stringMatching(/^rows: mode=upsert takes at most 10000 rows/),
      ]);
      const long = Array.from({ length: 9 }, (_, n) => ({ email: String(n).repeat(150_000) }));
      expect(outcomeOf(await upsert(table, long))).toBe('400 limit_exceeded');
      const stash = await upsert(table, { $stashID: await stashOf(client(), { 1: [{ email: 'a' }] }) });
      expect([outcomeOf(stash), stash.json.error.message]).toEqual([
        '400 request_validation_error',
        '$stashID: mode=upsert takes no stash. Send the rows in the body, in several requests',
      ]);
    });
  });

  test('needs a table with a key', async () => {
    const table = await createTable(client(), rows, types);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await upsert(table, [{ email: 'a' }]);
      expect(outcomeOf(answer)).toBe('400 request_validation_error');
      expect(answer.json.error.message).toMatch('no key');
    });
  });

  test('is refused whole with the place of the row', async () => {
    const table = await keyedTable();
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await upsert(table, [{ email: 'c' }, { email: 'a', age: 'x' }]);
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([
        '422 column_has_invalid_value',
        'rows[1].age: "x" does not fit the column\'s type number',
      ]);
      expect(outcomeOf(await upsert(table, [{ email: 'c', size: 1 }]))).toBe('422 column_id_not_found');
      expect(outcomeOf(await client().post(`${table.path}?mode=replace`, [{ email: 'c' }]))).toBe(
        '400 request_validation_error',
      );
      const guarded = await upsert(table, [{ email: 'c' }], { 'if-match': '"1"' });
      expect(outcomeOf(guarded)).toBe('412 precondition_failed');
    });
  });

  test('adapts the schema, or drops cells, as the client says', async () => {
    const table = await keyedTable();
    const dropped = await upsert(table, [{ email: 'a', age: 'x', size: 1 }], {}, '&onSchemaError=dropColumns');
    expect([counts(dropped), dropped.headers.get('tablog-dropped-cells')]).toEqual([
      'added=0, patched=0, unchanged=1, deleted=0',
      '2',
    ]);
    const wider = await upsert(table, [{ email: 'b', age: 'x', size: 1 }], {}, '&onSchemaError=updateSchema');
    expect(outcomeOf(wider)).toBe('200');
    expect(cellsOf(await client().rows(table.id))).toEqual([
      { email: 'a', age: '1' },
      { email: 'b', age: 'x', size: 1 },
      { age: '3' },
    ]);
  });

  test.each(['\0', 'x'.repeat(300_000)])(
    'refuses a cell of CSV that no row may hold, because dropping it would empty the cell of the table: %#',
    async (cell) => {
      const table = await keyedTable();
      await leavingUnchanged(client(), table.path, async () => {
        const answer = await upsert(table, `email,age\na,${cell}\n`, csv, '&onSchemaError=dropColumns');
        expect(answer.status).toBe(400);
      });
    },
  );

  test('has its first outcome if it is repeated with its Idempotency-Key', async () => {
    const table = await keyedTable();
    const key = { 'idempotency-key': 'once' };
    const first = await upsert(table, [{ email: 'c', age: 4 }], key);
    await client().patch(`${table.path}/${first.json.data.rowIDs[0]}`, { age: 5 });
    const again = await upsert(table, [{ email: 'c', age: 4 }], key);
    expect([again.text, counts(again)]).toEqual([first.text, 'added=1, patched=0, unchanged=0, deleted=0']);
    expect(cellsOf(await client().rows(table.id)).at(-1)).toEqual({ email: 'c', age: 5 });
    expect(outcomeOf(await client().post(table.path, [{ email: 'd' }], key))).toBe('400 idempotency_key_reused');
  });

  test('may be a job', async () => {
    const table = await keyedTable();
    const answer = await upsert(table, [{ email: 'a', age: 9 }], { 'x-service-asynchronous': 'true' });
    const done = answer.status === 202 ? await untilDone(client(), answer.json.data.jobID) : null;
    expect(done === null ? outcomeOf(answer) : done.json.data.status).toMatch(/^(200|completed|succeeded|done)/);
    expect(cellsOf(await client().rows(table.id))[0]).toEqual({ email: 'a', age: 9 });
  });
});

test('a batch upserts in order with its other operations', async () => {
  const table = await keyedTable();
  const [a, b] = table.rowIds;
  const answer = await client().post(`/tables/${table.id}/batch`, {
    operations: [
      { op: 'upsert', row: { email: 'c', age: 4 } },
      { op: 'patch', rowID: a, row: { email: 'd' } },
      { op: 'upsert', row: { email: 'd', age: null } },
      { op: 'delete', rowID: b },
      { op: 'upsert', row: { email: 'b' } },
      { op: 'upsert', row: { email: 'c' } },
    ],
  });
  expect([outcomeOf(answer), counts(answer)]).toEqual(['200', 'added=2, patched=2, unchanged=1, deleted=1']);
  const listed = await client().rows(table.id);
  expect(cellsOf(listed)).toEqual([{ email: 'd' }, { age: 3 }, { email: 'c', age: 4 }, { email: 'b' }]);
  const [c, again] = listed.slice(2).map(({ $rowID }) => $rowID);
  expect(answer.json.data.rowIDs).toEqual([c, a, a, b, again, c]);
});

test('upserts of the same keys at once all take effect, and no key is there twice', async () => {
  const table = await keyedTable();
  const columns = Array.from({ length: 8 }, (_, n) => `c${n}`);
  await client().patch(`/tables/${table.id}`, { add: columns.map((id) => ({ id, type: 'number' })) });
  const emails = Array.from({ length: 5 }, (_, n) => `${n}@example.org`);
  // Each writes a column of its own, so that a lost write would be missing.
  const answers = await Promise.all(
    columns.flatMap((column, n) =>
      emails.map((email) => {
        const row = { email, [column]: n };
        return n % 2 === 0
          ? upsert(table, [row])
          : client().post(`/tables/${table.id}/batch`, { operations: [{ op: 'upsert', row }] });
      }),
    ),
  );
  expect(answers.map(outcomeOf).filter((outcome) => outcome !== '200')).toEqual([]);
  const whole = Object.fromEntries(columns.map((column, n) => [column, n]));
  const found = cellsOf(await client().rows(table.id)).slice(3);
  const byEmail = (one: any, other: any): number => (one.email < other.email ? -1 : 1);
  expect(found.toSorted(byEmail)).toEqual(emails.map((email) => ({ email, ...whole })));
  expect(answers.filter((answer) => counts(answer)!.startsWith('added=1'))).toHaveLength(emails.length);
});

/** A request for few keys, so that requests meet. `null` has no key. */
const keyArb = fc.constantFrom('a', 'b', 'c', 'd', null);
const cellArb = fc.constantFrom(1, 2, null, undefined);
const requestArb = fc.record({
  kind: fc.constantFrom('upsert', 'upsert', 'batch', 'cells', 'delete'),
  rows: fc.array(fc.record({ email: keyArb, age: cellArb, born: fc.constantFrom('2000-01-01', null, undefined) }), {
    minLength: 1,
    maxLength: 5,
  }),
});

test('a table has the rows that a map by key has after the same upserts and deletions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(requestArb, { minLength: 1, maxLength: 8 }), async (requests) => {
      const table = await keyedTable();
      let model: Record<string, unknown>[] = rows.map((row) => ({ ...row }));
      for (const { kind, rows: given } of requests) {
        if (kind === 'delete') {
          const { $rowID, ...cells } = (await client().rows(table.id))[0] ?? {};
          if ($rowID === undefined) continue;
          await client().delete(`${table.path}/${$rowID as string}`);
          model = model.filter((row) => row !== model[0]);
          expect(cells).toBeDefined();
          continue;
        }
        const texts = given.map(({ email, age, born }) => [email ?? '', age ?? '', born ?? ''].join(','));
        const answer =
          kind === 'upsert'
            ? await upsert(table, given)
            : kind === 'batch'
              ? await client().post(`/tables/${table.id}/batch`, {
                  operations: given.map((row) => ({ op: 'upsert', row })),
                })
              : await upsert(table, `email,age,born\n${texts.join('\n')}\n`, csv);
        expect(outcomeOf(answer)).toBe('200');
        for (const row of given) {
          const held = row.email === null ? undefined : model.find(({ email }) => email === row.email);
          const target = held ?? {};
          if (held === undefined) model.push(target);
          for (const [id, value] of Object.entries(row)) {
            if (value !== null && value !== undefined) target[id] = value;
            else if (value === null || kind === 'cells') delete target[id];
          }
        }
      }
      expect(cellsOf(await client().rows(table.id))).toEqual(model);
    }),
    { numRuns: 15 },
  );
});
