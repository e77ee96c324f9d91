/** `tablog tables`, and exports to Parquet, against a running service. */
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import { useCommandLine } from '../../support/command-line.ts';
import { createTable, unknownTableId } from '../../support/tables.ts';

const { folder, relay, client, tablog, output, imported, fileOf } = useCommandLine();

describe('tables', () => {
  test('are listed, in the order of their creation', async () => {
    const made = [];
    for (const name of ['first', 'second\u202e']) made.push(await client().post('/tables', { name, rows: [] }));
    const [first, second] = made.map(({ json }) => json.data.tableID as string);
    const tables = JSON.parse(await output('tables', 'list', '--json'));
    expect(tables).toEqual([
      { id: first, name: 'first' },
      { id: second, name: 'second\u202e' },
    ]);
    expect(await output('tables', 'list')).toBe(
      `ID                                    NAME\n${first}  first\n${second}  second\\u202e\n`,
    );
  });

  test('are renamed, unless they have changed', async () => {
    const { id, path } = await createTable(client(), [{ n: 1 }]);
    const { version: before } = await client().head(path);
    const renamed = await tablog(['tables', 'rename', id, 'cars of 1982']);
    expect(renamed).toEqual({ code: 0, stdout: '', stderr: `The table "test" (${id}) is now named "cars of 1982".\n` });
    const { version } = await client().head(`/tables/${id}`);
    const refused = await tablog(['tables', 'rename', 'cars of 1982', 'cars', '--if-match', String(before)]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^precondition_failed: /)]);
    expect(
      JSON.parse(await output('tables', 'rename', 'cars of 1982', 'cars', '--if-match', String(version), '--json')),
    ).toMatchObject({ id, name: 'cars', version: expect.stringMatching(/^\d+$/) });
    expect((await client().get(`/tables/${id}`)).json.data).toMatchObject({ name: 'cars', rows: 1 });
  });

  test('are deleted, unless they have changed', async () => {
    const { id, path } = await createTable(client(), [{ n: 1 }, { n: 2 }]);
    await client().patch(`/tables/${id}`, { name: 'to go' });
    const { version } = await client().head(path);
    await client().post(path, [{ n: 3 }]);
    const refused = await tablog(['tables', 'delete', 'to go', '--if-match', String(version)]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/^precondition_failed: /)]);
    expect(await tablog(['tables', 'delete', 'to go'])).toEqual({
      code: 0,
      stdout: '',
      stderr: `The table "to go" (${id}) is deleted. It had 3 rows.\n`,
    });
    expect((await client().get(`/tables/${id}`)).status).toBe(404);
    const other = await createTable(client(), []);
    expect(JSON.parse(await output('tables', 'delete', other.id, '--json'))).toEqual({
      id: other.id,
      name: 'test',
      rows: 0,
    });
  });

  test('that do not exist, or share a name, are named in an error', async () => {
    const ids = [(await createTable(client(), [])).id, (await createTable(client(), [])).id];
    for (const args of [
      ['rename', 'test', 'x'],
      ['delete', 'test'],
    ]) {
      expect(await tablog(['tables', ...args])).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`give the ID of one: `),
      });
      for (const id of ids) expect((await client().get(`/tables/${id}`)).status).toBe(200);
    }
    for (const args of [
      ['rename', 'nobody', 'x'],
      ['delete', 'nobody'],
    ]) {
      expect(await tablog(['tables', ...args])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'There is no table "nobody".\n',
      });
    }
    expect(await tablog(['tables', 'delete', unknownTableId])).toMatchObject({
      code: 1,
      stderr: `There is no table with the ID ${unknownTableId}.\n`,
    });
  });
});

describe('an export to Parquet', () => {
  /** The rows of a file, as DuckDB reads them. */
  async function rowsOf(file: string): Promise<unknown[]> {
    const instance = await DuckDBInstance.create(':memory:');
    try {
      const connection = await instance.connect();
      const result = await connection.runAndReadAll(`SELECT * FROM read_parquet('${file}')`);
      connection.closeSync();
      return result.getRowObjectsJson();
    } finally {
      instance.closeSync();
    }
  }

  test('has the columns of the table, and the IDs of the rows', async () => {
    const source = await fileOf('cities.csv', ['city,visits', 'Oslo,1', 'Rome,2']);
    const { tableID, version } = await imported(source, '--table', 'cities');
    const target = join(folder(), 'cities.parquet');
    const written = await tablog(['export', 'cities', '--output', target]);
    expect(written).toMatchObject({ code: 0, stdout: '' });
    const { length } = await readFile(target);
    expect(written.stderr).toMatch(
      new RegExp(
        `^The table "cities" \\(${tableID}\\) written to ${target}, version ${version}, ${length.toLocaleString('en')} bytes, in [\\d.]+ s\\.\n$`,
      ),
    );
    const rows = (await client().rows(tableID)).map(({ $rowID, city, visits }) => ({ $rowID, city, visits }));
    expect(rows).toMatchObject([
      { city: 'Oslo', visits: 1 },
      { city: 'Rome', visits: 2 },
    ]);
    expect(await rowsOf(target)).toEqual(rows);
    const unnamed = join(folder(), 'cities of any format');
    await output('export', 'cities', '--output', unnamed, '--format', 'parquet', '--row-ids');
    expect(await rowsOf(unnamed)).toEqual(rows);
    expect(await output('export', 'cities', '--format', 'parquet')).toMatch(/^PAR1[^]*PAR1$/);
    // The name may have another extension.
    await output('export', 'cities', '--output', target, '--format', 'csv');
    expect(await readFile(target, 'utf8')).toBe('city,visits\nOslo,1\nRome,2\n');
  });

  test('an export to Parquet or to a workbook can be imported, and CSV can be for Excel', async () => {
    const source = await fileOf('towns of the world.csv', ['town,visits,on', '=Oslo,1,2024-02-29', 'Rome,-2,']);
    await imported(source, '--table', 'towns');
    const target = join(folder(), 'towns.xlsx');
    expect(await tablog(['export', 'towns', '--output', target])).toMatchObject({ code: 0, stdout: '' });
    expect(await tablog(['import', target, '--table', 'towns', '--overwrite'])).toMatchObject({ code: 0, stderr: '' });
    expect(await output('export', 'towns')).toBe('town,visits,on\n=Oslo,1,2024-02-29\nRome,-2,\n');
    const forExcel = join(folder(), 'towns.csv');
    await output('export', 'towns', '--excel', '--delimiter', ';', '--output', forExcel);
    expect((await readFile(forExcel)).toString()).toBe('\ufefftown;visits;on\n"\'=Oslo";1;2024-02-29\nRome;-2;\n');
    expect(await output('export', 'towns', '--delimiter', 'tab')).toBe(
      'town\tvisits\ton\n=Oslo\t1\t2024-02-29\nRome\t-2\t\n',
    );
  });

  test('an export of a table without columns can be read', async () => {
    const { id } = await createTable(client(), []);
    const target = join(folder(), 'empty.parquet');
    await output('export', id, '--output', target);
    expect(await rowsOf(target)).toEqual([]);
  });

  test('leaves no file if it breaks off', async () => {
    const source = await fileOf('broken.csv', ['n', ...Array.from({ length: 1000 }, (_, n) => String(n))]);
    await imported(source, '--table', 'broken');
    const target = join(folder(), 'broken.parquet');
    relay().faultFor = (_method, path) => (path.includes('/export') ? 'cut' : 'pass');
    const { code, stderr } = await tablog(['export', 'broken', '--output', target]);
    expect([code, stderr]).toEqual([1, 'The connection ended before the whole file had arrived. Try again.\n']);
    await expect(access(target)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.each([
    [['--format', 'parquet.gz'], /It must be csv, tsv, json, ndjson, parquet or xlsx/],
    [['--output', 'x.parquet.gz'], /Parquet is compressed already/],
    [['--output', 'x.xlsx.zst'], /A workbook is compressed already: leave out \.zst/],
    [['--format', 'xlsx.gz'], /It must be csv/],
    [['--format', 'json', '--excel'], /--excel is for CSV/],
    [['--output', 'x.xlsx', '--delimiter', ';'], /--delimiter is for CSV/],
    [['--delimiter', 'x'], /It must be , or ; or \| or tab/],
  ])('is refused with %j', async (flags, message) => {
    const { code, stdout, stderr } = await tablog(['export', 'cities', ...flags]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
