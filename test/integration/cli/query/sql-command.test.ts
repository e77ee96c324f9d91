/** SQL from the command line: parameters, formats and messages. */
import { beforeAll, expect, test } from '@jest/globals';
import { useCommandLine } from '../../../support/command-line.ts';

const { tablog, fileOf, imported } = useCommandLine();

let tableID: string;

beforeAll(async () => {
  const rows = Array.from({ length: 300 }, (_, n) =>
    JSON.stringify({ n, kind: n % 2 === 0 ? 'even' : 'odd', list: [n], any: n === 299 ? 'x' : { y: n } }),
  );
  ({ tableID } = await imported(await fileOf('things.ndjson', rows), '--table', 'things'));
});

const first100 = Array.from({ length: 100 }, (_, n) => `${String(n).padStart(2)}\n`).join('');

test.each<readonly [string, readonly string[], string, string]>([
  [
    'groups',
    ['SELECT kind, count(*) AS rows, avg(n) AS mean FROM things GROUP BY kind ORDER BY kind'],
    'kind,rows,mean\neven,150,149\nodd,150,150\n',
    '2 rows.',
  ],
  [
    'parameters',
    ['SELECT n, kind FROM things WHERE n > $1 AND kind = $2', '--param', '296', 'odd', '--format', 'json'],
    '[\n{"n":297,"kind":"odd"},\n{"n":299,"kind":"odd"}\n]\n',
    '2 rows.',
  ],
  [
    'parameters, one after the other',
    ['SELECT n FROM things WHERE n > $1 AND kind = $2', '--param=296', '--param=even'],
    'n\n298\n',
    '1 row.',
  ],
  ['no rows', ['SELECT n, kind FROM things WHERE n < 0'], 'n,kind\n', '0 rows.'],
  [
    'empty cells, arrays and JSON',
    ['SELECT NULL AS nothing, list, "any" FROM things WHERE n = 299'],
    'nothing,list,any\n,[299],"""x"""\n',
    '1 row.',
  ],
  [
    'some of the rows',
    ['SELECT n FROM things ORDER BY n', '--limit', '2', '--format', 'ndjson'],
    '{"n":0}\n{"n":1}\n',
    'The first 2 rows of 300; use --limit to get more.',
  ],
  [
    'a table, which is for people',
    ['SELECT n FROM things ORDER BY n', '--format', 'table'],
    ` n\n${first100}`,
    'The first 100 rows of 300; use --limit to get more.',
  ],
])('SQL prints its rows: %s', async (_what, args, stdout, said) => {
  expect(await tablog(['sql', ...args])).toEqual({ code: 0, stdout, stderr: `${said}\n` });
});

test('row IDs are selected, from a table by its ID', async () => {
  const { stdout } = await tablog(['sql', `SELECT "$rowID", n FROM "${tableID}" WHERE n = 7`, '--format', 'ndjson']);
  expect(JSON.parse(stdout)).toEqual({ $rowID: expect.stringMatching(/^[\w-]{22}$/), n: 7 });
});

test('the command prints the refusal of the service', async () => {
  const refused = await tablog(['sql', 'SELECT nope FROM things']);
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^query_invalid: .*nope/);
});
