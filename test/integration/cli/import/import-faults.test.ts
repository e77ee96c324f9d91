/** Imports by the command line that are refused, interrupted, or sent over a connection with faults. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { Client } from '../../../support/client.ts';
import { useCommandLine, type Imported } from '../../../support/command-line.ts';
import { writeContent } from '../../../support/files.ts';
import { Relay } from '../../../support/relay.ts';
import { sleepUntil, startServer } from '../../../support/server.ts';
import { runTablog } from '../../../support/tablog.ts';

const { folder, relay, client, tablog, imported, fileOf, killServer, stashId, stateOfStash } = useCommandLine();

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

async function tableNames(): Promise<string[]> {
  return (await client().get('/tables')).json.data.map(({ name }: { name: string }) => name);
}

describe('a refusal of the service names the place in the file', () => {
  const rows = numbers(2_500).map((n) => `${n},x`);

  test.each([
    [
      'a cell of CSV',
      'bad.csv',
      ['n,s', ...rows.with(1_776, '"12\n3",x')],
      'line 1778 (row 1777): column_has_invalid_value: chunk 1, rows[776].n: ',
    ],
    [
      'behind blank lines and cells of several lines',
      'bad.csv',
      ['', 'n,s', ...rows.with(3, '\n3,"x\ny"').with(1_776, 'no,x')],
      'line 1781 (row 1777): column_has_invalid_value: chunk 1, rows[776].n: ',
    ],
    [
      'a line of NDJSON',
      'bad.ndjson',
      rows.map((_, n) => `{"n":${n === 2_499 ? '"no"' : n}}`),
      'line 2500 (row 2500): column_has_invalid_value: chunk 2, rows[499].n: "no"',
    ],
    [
      'an unknown column',
      'bad.ndjson',
      rows.map((_, n) => `{"n":${n}${n === 7 ? ',"more":1' : ''}}`),
      'line 8 (row 8): column_id_not_found: chunk 0, rows[7].more: ',
    ],
    [
      'a line with too many cells',
      'bad.csv',
      ['n,s', ...rows.with(1_500, '1,x,2').with(2_400, '1,x,2')],
      'line 1502 (row 1501): request_validation_error: rows[500]: the line has 3 cells, the header 2',
    ],
    ['a header', 'bad.csv', ['', 'n,n', '1,2'], 'line 2: column_id_not_unique: header[1]: '],
  ])('a refusal names the place in the file: %s', async (_what, name, lines, message) => {
    const table = `places ${_what}`;
    const { tableID } = await imported(await fileOf('good.csv', ['n,s', '1,x']), '--table', table);
    relay().reset();
    const file = await fileOf(name, lines);
    const refused = await tablog(['import', file, '--table', table]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    const [words, told] = refused.stderr.trimEnd().split('\n');
    expect(words).toBe(`The stash ${stashId()} has been deleted.`);
    expect(told).toContain(`${file}, ${message}`);
    expect(await stateOfStash()).toMatch(/was deleted$|^there is no stash/);
    expect(await client().rows(tableID)).toHaveLength(1);
  });

  test('a mistake in the file is reported before all of the file is sent', async () => {
    const file = await fileOf('malformed.ndjson', [...rows.map((_, n) => `{"n":${n}}`), '{"n":}']);
    const refused = await tablog(['import', file, '--table', 'malformed']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`${file}, line 2501: n: broken JSON, unexpected "}"\n`);
    const cut = await writeContent(join(folder(), 'cut.csv.gz'), `n,s\n${rows.join('\n')}`);
    await writeFile(cut, (await readFile(cut)).subarray(0, -20));
    expect((await tablog(['import', cut, '--table', 'malformed'])).stderr).toContain(
      `${cut}: the gzip data ends too soon`,
    );
    expect(await tableNames()).not.toContain('malformed');
  });
});

describe('nothing takes effect twice, and nothing is left behind', () => {
  const isImport = (method: string, path: string): boolean => method !== 'GET' && path.startsWith('/tables');

  test('if answers are lost, cut short or 503', async () => {
    const rows = numbers(8_500);
    const file = await fileOf('faults.csv', ['n', ...rows.map(String)]);
    relay().faultFor = (method, path, attempt) => {
      if (method === 'PUT' && path.startsWith('/stashes'))
        return (['lose', 'cut', 'busy', 'pass'] as const)[Math.min(3, (Number(path.split('/')[3]) + attempt) % 5)]!;
      return isImport(method, path) ? (['lose', 'busy', 'lose', 'pass'] as const)[Math.min(3, attempt)]! : 'pass';
    };
    const { tableID } = await imported(file, '--table', 'faults');
    expect((await client().rows(tableID)).map(({ n }) => n)).toEqual(rows);
    expect(relay().passed.filter(({ method, path, status }) => isImport(method, path) && status === 201)).toHaveLength(
      3,
    );

    relay().faultFor = (method, path, attempt) => (isImport(method, path) && attempt < 2 ? 'lose' : 'pass');
    await imported(file, '--table', 'faults');
    expect((await client().rows(tableID)).map(({ n }) => n)).toEqual([...rows, ...rows]);
    await imported(file, '--table', 'faults', '--overwrite');
    expect((await client().rows(tableID)).map(({ n }) => n)).toEqual(rows);
    expect((await tableNames()).filter((name) => name === 'faults')).toHaveLength(1);
    expect(await stateOfStash()).toMatch(/was deleted$/);
  });

  test('if the server is killed in the middle and comes back', async () => {
    const input = new PassThrough();
    const running = tablog(['import', '-', '--format', 'ndjson', '--table', 'killed', '--json'], input);
    const lines = numbers(20_000).map((n) => `{"n":${n}}\n`);
    input.write(lines.slice(0, 12_500).join(''));
    await sleepUntil(() => relay().passed.filter(({ method }) => method === 'PUT').length >= 3, 'chunks have come');
    await killServer(() => input.end(lines.slice(12_500).join('')));
    const { code, stdout } = await running;
    expect(code).toBe(0);
    expect((await client().rows(JSON.parse(stdout).tableID)).map(({ n }) => n)).toEqual(numbers(20_000));
    expect(await stateOfStash()).toMatch(/was deleted$/);
  });

  test('Ctrl-C deletes the stash and says so', async () => {
    const input = new PassThrough();
    const running = tablog(['import', '-', '--format', 'csv', '--table', 'interrupted'], input);
    input.write(`n\n${numbers(2_500).join('\n')}\n`);
    await sleepUntil(
      () => relay().passed.filter(({ method }) => method === 'PUT').length === 2,
      'two chunks have come',
    );
    running.child.kill('SIGINT');
    expect(await running).toEqual({
      code: 1,
      stdout: '',
      stderr: `The stash ${stashId()} has been deleted.\nInterrupted.\n`,
    });
    expect(await stateOfStash()).toMatch(/was deleted$/);
    expect(await tableNames()).not.toContain('interrupted');
  });

  test('Ctrl-C during the final request says that the import may have taken effect', async () => {
    relay().faultFor = (method, path) => (isImport(method, path) ? 'hold' : 'pass');
    const running = tablog(['import', await fileOf('held.csv', ['n', '1']), '--table', 'held']);
    await sleepUntil(() => relay().passed.some(({ method }) => method === 'PUT'), 'the chunk has come');
    await sleepUntil(() => relay().held > 0, 'the import is asked for');
    running.child.kill('SIGINT');
    const { code, stderr } = await running;
    expect(code).toBe(1);
    expect(stderr).toBe(
      `The stash ${stashId()} has been deleted.\nInterrupted. It is unknown whether the import took effect: look at the table.\n`,
    );
  });
});

test('the command waits for an import that becomes a job, and names the place of its refusal', async () => {
  await using stack = new AsyncDisposableStack();
  const waiting = await startServer({ environment: { ASYNC_WAIT_MS: '0' } });
  stack.defer(async () => void (await waiting.stop()));
  const between = await Relay.open(waiting.url);
  stack.defer(() => between.close());
  const environment = { TABLOG_URL: between.url, TABLOG_TOKEN: await waiting.token(), XDG_CONFIG_HOME: folder() };
  const other = new Client(waiting.url, environment.TABLOG_TOKEN);
  const rows = numbers(2_500);
  const file = await fileOf('job.csv', ['n', ...rows.map(String)]);
  let tableId = '';
  for (const [flags, wanted] of [
    [['--create'], rows],
    [[], [...rows, ...rows]],
    [['--overwrite'], rows],
  ] as const) {
    const { code, stdout } = await runTablog(['import', file, '--table', 'job', '--json', ...flags], environment);
    expect(code).toBe(0);
    const result = JSON.parse(stdout) as Imported;
    tableId = result.tableID;
    expect((await other.rows(tableId)).map(({ n }) => n)).toEqual(wanted);
    expect((await other.head(`/tables/${tableId}/rows`)).version).toBe(BigInt(result.version));
  }
  expect(between.passed.filter(({ status }) => status === 202)).toHaveLength(2);
  const bad = await fileOf('job-bad.csv', ['n', ...rows.map(String), 'x']);
  const refused = await runTablog(['import', bad, '--table', 'job'], environment);
  expect(refused.stderr).toContain(`${bad}, line 2502 (row 2501): chunk 2, rows[500].n: `);
  expect(await other.rows(tableId)).toHaveLength(2_500);
});
