/** `tablog update` and `tablog delete` against a running service. */
import { expect, test } from '@jest/globals';
import { Tablog } from '../../../../clients/typescript/src/index.ts';
import { changeConfirmed } from '../../../../src/cli/change/change-command.ts';
import { useCommandLine } from '../../../support/command-line.ts';
import { createTable } from '../../../support/tables.ts';

const { client, relay, tablog, output } = useCommandLine();

const tasks = [
  { title: 'a', n: 1, done: true },
  { title: 'b', n: 2, done: false },
  { title: 'c', n: 3, done: true },
];
const madeTable = (): Promise<{ readonly id: string }> => createTable(client(), tasks);
const rowsOf = async (id: string): Promise<unknown> =>
  (await client().rows(id)).map(({ title, n, done }) => [title, n, done]);
const writes = (): number => relay().passed.filter(({ method }) => method === 'PATCH' || method === 'DELETE').length;

test('an update counts the rows first, if it is asked to, and then sets their columns', async () => {
  const { id } = await madeTable();
  const args = ['update', id, '--where', 'done=true', '--where', 'n>=1', '--set', 'n=3', '--set', 'title='];
  const { version } = await client().head(`/tables/${id}`);
  expect(await tablog([...args, '--dry-run'])).toEqual({
    code: 0,
    stdout: '',
    stderr: `2 rows of the table "test" (${id}) would be updated, version ${version}.\n`,
  });
  expect(JSON.parse(await output(...args, '--dry-run', '--json'))).toEqual({
    id,
    name: 'test',
    matched: 2,
    version: String(version),
  });
  expect(await rowsOf(id)).toEqual(tasks.map(Object.values));
  expect(await tablog([...args, '--yes'])).toEqual({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^2 rows of the table "test" \(.*\) updated, version \d+\.\n$/),
  });
  const updated = [
    [undefined, 3, true],
    ['b', 2, false],
    [undefined, 3, true],
  ];
  expect(await rowsOf(id)).toEqual(updated);
  const again = await tablog([...args, '--yes']);
  expect(again.stderr).toMatch(/^2 rows of the table "test" \(.*\) updated \(2 had these values before\), version \d+/);
  expect(JSON.parse(await output(...args, '--yes', '--json'))).toMatchObject({ matched: 2, updated: 0, unchanged: 2 });
  expect(await rowsOf(id)).toEqual(updated);
});

test('a deletion takes the rows that meet the condition', async () => {
  const { id } = await madeTable();
  const dry = await tablog(['delete', id, '--where', 'n>1', '--dry-run']);
  expect(dry).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^2 rows .* would be deleted, version \d+\.\n$/),
  });
  const none = await tablog(['delete', id, '--where', 'n>7', '--yes']);
  expect(none).toMatchObject({ code: 0, stderr: expect.stringMatching(/^0 rows .* deleted, version \d+\.\n$/) });
  expect(JSON.parse(await output('delete', id, '--where', 'n>1', '--yes', '--json'))).toMatchObject({
    id,
    name: 'test',
    matched: 2,
    deleted: 2,
  });
  expect(await rowsOf(id)).toEqual([['a', 1, true]]);
  await output('delete', id, '--where', '{"and":[]}', '--yes');
  expect(await rowsOf(id)).toEqual([]);
});

test('a query finds the rows of the same condition', async () => {
  const { id } = await madeTable();
  expect(await output('query', id, '--where', 'done=true', '--where', 'n>1', '--fields', 'title,n')).toBe(
    'title,n\nc,3\n',
  );
  const both = await tablog(['query', id, '--where', 'n>1', '--filter', '{"and":[]}']);
  expect(both).toMatchObject({ code: 1, stderr: expect.stringContaining("'--where <condition>'") });
});

test.each<[what: string, args: readonly string[], message: string]>([
  [
    'a deletion without a condition',
    ['delete', 'T', '--yes'],
    "error: required option '--where <condition>' not specified\n",
  ],
  [
    'an update without a condition',
    ['update', 'T', '--set', 'n=1', '--yes'],
    "required option '--where <condition>' not specified\n",
  ],
  [
    'an update without a value',
    ['update', 'T', '--where', 'n=1', '--yes'],
    "required option '--set <column=value>' not specified\n",
  ],
  ['a condition that is none', ['delete', 'T', '--where', 'n', '--yes'], 'It must be a comparison, such as "age>=18"'],
  ['nobody to ask', ['delete', 'T', '--where', 'n=1'], 'Nobody can be asked here: give --yes to change the rows'],
  ['a count that is confirmed', ['delete', 'T', '--where', 'n=1', '--yes', '--dry-run'], 'cannot be used with option'],
])('%s sends nothing', async (_what, args, message) => {
  const refused = await tablog(args);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(message) });
  expect(relay().passed).toEqual([]);
});

test.each<[args: readonly string[], message: RegExp]>([
  [['update', '--where', 'n=1', '--set', 'n=many'], /^column_has_invalid_value: .*n.*"many" does not fit/],
  [['update', '--where', 'n=many', '--set', 'n=1'], /^column_has_invalid_value: .*does not fit .*number/],
  [['update', '--where', 'n=1', '--set', 'gone=1'], /^column_id_not_found: .*gone/],
  [['delete', '--where', 'gone=1'], /^column_id_not_found: .*gone/],
])('%j is refused and changes nothing', async ([command, ...args], message) => {
  const { id } = await madeTable();
  expect(await tablog([command!, id, ...args, '--yes'])).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(message),
  });
  expect(writes()).toBe(1);
  expect(await rowsOf(id)).toEqual(tasks.map(Object.values));
});

test('an answer to the question changes exactly the rows that were counted, or none if somebody has changed one', async () => {
  const { id } = await madeTable();
  const table = new Tablog({ url: relay().url, token: client().token }).table(id);
  const asked = { table, filter: { column: 'done', op: 'eq', value: true }, patch: { n: 7 } } as const;
  const asking: number[] = [];
  const { patched } = await changeConfirmed(asked, async (found) => {
    asking.push(found);
    // The row meets the condition, but was added after the count.
    await table.add([{ title: 'd', n: 4, done: true }]);
  });
  expect([asking, patched]).toEqual([[2], 2]);
  const changed = [
    ['a', 7, true],
    ['b', 2, false],
    ['c', 7, true],
    ['d', 4, true],
  ];
  expect(await rowsOf(id)).toEqual(changed);

  const [first] = await table.rows().toArray();
  const overtaken = changeConfirmed(
    { ...asked, patch: null },
    async () => void (await table.patch(first!.$rowID, { title: 'x' })),
  );
  await expect(overtaken).rejects.toThrow(
    'Somebody else has changed some of these rows meanwhile. Nothing was changed',
  );
  expect(await rowsOf(id)).toEqual([['x', 7, true], ...changed.slice(1)]);
});

test('more than 10,000 rows are left as they are', async () => {
  const { id } = await createTable(
    client(),
    Array.from({ length: 10_001 }, (_, n) => ({ n })),
  );
  expect(await tablog(['delete', id, '--where', 'n>=0', '--yes'])).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'limit_exceeded: more than 10000 rows meet the filter. Nothing was changed. ' +
      'Change the rows in several steps, with narrower conditions.\n',
  });
  expect((await client().get(`/tables/${id}`)).json.data.rows).toBe(10_001);
});
