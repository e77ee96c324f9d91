/** Queries from the command line: their options, formats, pages and messages. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useCommandLine } from '../../../support/command-line.ts';

const { relay, client, tablog, fileOf, imported } = useCommandLine();

const kinds = ['even', 'odd'];
let tableID: string;
let version: string;

/** The table `many`: three pages of rows. */
beforeAll(async () => {
  const rows = Array.from({ length: 25_000 }, (_, n) =>
    JSON.stringify({ n, kind: kinds[n % 2], text: n === 7 ? 'a,b' : `t${n}`, list: [n] }),
  );
  ({ tableID, version } = await imported(await fileOf('many.ndjson', rows), '--table', 'many'));
});

const above = (n: number): string[] => ['--filter', JSON.stringify({ column: 'n', op: 'gt', value: n })];
const queries = (): number => relay().passed.filter(({ path }) => path.endsWith('/query')).length;

describe('a query', () => {
  test.each<readonly [string, readonly string[], string, string]>([
    [
      'a filter, sorted, some columns, counted',
      [...above(24_900), '--sort', '-kind,n', '--fields', 'n,kind', '--count', '--limit', '2'],
      'n,kind\n24901,odd\n24903,odd\n',
      'The first 2 rows of 99',
    ],
    [
      'all that there is',
      above(24_997),
      'n,kind,text,list\n24998,even,t24998,[24998]\n24999,odd,t24999,[24999]\n',
      '2 rows',
    ],
    ['one row', above(24_998), 'n,kind,text,list\n24999,odd,t24999,[24999]\n', '1 row'],
    ['none', above(24_999), 'n,kind,text,list\n', '0 rows'],
    [
      'TSV',
      ['--fields', 'text,n', '--filter', '{"column":"n","op":"eq","value":7}', '--format', 'tsv'],
      'text\tn\na,b\t7\n',
      '1 row',
    ],
    ['JSON', [...above(24_997), '--fields', 'n', '--format', 'json'], '[\n{"n":24998},\n{"n":24999}\n]\n', '2 rows'],
    ['NDJSON', [...above(24_997), '--fields', '["n"]', '--format', 'ndjson'], '{"n":24998}\n{"n":24999}\n', '2 rows'],
    [
      'a table',
      [...above(24_997), '--format', 'table'],
      '    n  kind  text    list\n24998  even  t24998  [24998]\n24999  odd   t24999  [24999]\n',
      '2 rows',
    ],
    [
      'groups',
      ['--group-by', 'kind', '--aggregate', 'count,sum:n', '--sort', '-sum_n'],
      'kind,count,sum_n\nodd,12500,156250000\neven,12500,156237500\n',
      '2 groups',
    ],
    [
      'groups of rows that are counted',
      [...above(24_900), '--group-by', 'kind', '--aggregate', 'max:n', '--count', '--format', 'json'],
      '[\n{"kind":"even","max_n":24998},\n{"kind":"odd","max_n":24999}\n]\n',
      '2 groups of 99 rows',
    ],
    [
      'aggregates of all rows, of which there are none',
      [...above(24_999), '--aggregate', 'count,sum:n'],
      'count,sum_n\n0,\n',
      '1 group',
    ],
  ])('a query prints its rows: %s', async (_what, args, stdout, said) => {
    const more = said.startsWith('The first') ? '; use --limit to get more' : '';
    expect(await tablog(['query', 'many', ...args])).toEqual({
      code: 0,
      stdout,
      stderr: `${said}, version ${version}${more}.\n`,
    });
  });

  test('prints row IDs and versions of rows if they are named', async () => {
    const { stdout } = await tablog([
      'query',
      tableID.toUpperCase(),
      ...above(24_998),
      '--fields',
      '$rowID,n,$version',
      '--format',
      'ndjson',
    ]);
    expect(JSON.parse(stdout)).toEqual({ $rowID: expect.stringMatching(/^[\w-]{22}$/), n: 24_999, $version: version });
  });
});

describe('pages', () => {
  test('are read to the end, at one version', async () => {
    const { stdout, stderr } = await tablog(['query', 'many', '--sort', 'n', '--fields', 'n']);
    expect(stdout.trimEnd().split('\n').slice(1).map(Number)).toEqual(Array.from({ length: 25_000 }, (_, n) => n));
    expect(stderr).toBe(`25,000 rows, version ${version}.\n`);
    expect(queries()).toBe(3);
  });

  test('are read up to --limit', async () => {
    const { stdout, stderr } = await tablog(['query', 'many', '--sort', '-n', '--fields', 'n', '--limit', '15000']);
    expect(stdout.trimEnd().split('\n').slice(1).map(Number)).toEqual(
      Array.from({ length: 15_000 }, (_, n) => 24_999 - n),
    );
    expect(stderr).toBe(`The first 15,000 rows, version ${version}; use --limit to get more.\n`);
    expect(queries()).toBe(2);
  });

  test('a table for people has 100 rows by default', async () => {
    const { stdout, stderr } = await tablog(['query', 'many', '--format', 'table']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(101);
    expect(stderr).toBe(`The first 100 rows, version ${version}; use --limit to get more.\n`);
  });
});

describe('a refused query', () => {
  test.each<readonly [readonly string[], RegExp]>([
    [['--fields', 'nope'], /^column_id_not_found: fields\[0\]: the table has no column "nope"\n$/],
    [['--filter', '{"column":"n","op":"gt","value":"x"}'], /^column_has_invalid_value: filter\.value: /],
    [['--aggregate', 'median:n'], /^request_validation_error: aggregate\[0\]\.op: must be one of count, /],
    [['--filter', 'n > 1'], /^error: option '--filter <json>' argument 'n > 1' is invalid\. It must be JSON/],
    [
      ['--limit', '0'],
      /^error: option '--limit <n>' argument '0' is invalid\. It must be a whole number of at least 1\./,
    ],
    [['--format', 'xml'], /Allowed choices are table, csv, tsv, json, ndjson\./],
  ])('a query is refused: %j', async (args, said) => {
    const refused = await tablog(['query', 'many', ...args]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(said);
  });

  test('names a table that does not exist', async () => {
    expect(await tablog(['query', 'nobody'])).toEqual({ code: 1, stdout: '', stderr: 'There is no table "nobody".\n' });
  });

  test('reads nothing if the table has no columns, because CSV has no form for that', async () => {
    await client().post('/tables?name=bare', []);
    const refused = await tablog(['query', 'bare']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^The table has no columns/);
    expect(await tablog(['query', 'bare', '--format', 'json'])).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});
