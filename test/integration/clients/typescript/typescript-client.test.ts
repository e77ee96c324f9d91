/** The client of clients/typescript, against a running service. */
import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Tablog, TablogError, Unreachable, type Table } from '../../../../clients/typescript/src/index.ts';
import { startServer, type TestServer } from '../../../support/server.ts';
import { runTablog } from '../../../support/tablog.ts';

interface City {
  name: string;
  visits: number;
  tags: string[];
}

let server: TestServer;
let tablog: Tablog;

beforeAll(async () => {
  server = await startServer({ environment: { ASYNC_WAIT_MS: '0' } });
  tablog = new Tablog({ url: `${server.url}/`, token: await server.token() });
});

afterAll(async () => {
  await server?.stop();
});

const columns = [
  { id: 'name', type: 'string' },
  { id: 'visits', type: 'number' },
  { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
] as const;
const city = (n: number): City => ({ name: `city ${n}`, visits: n, tags: [n % 2 === 0 ? 'even' : 'odd'] });
const cities = (count: number): City[] => Array.from({ length: count }, (_, n) => city(n));

async function makeTable(rows: readonly City[]): Promise<Table<City>> {
  return (await tablog.createTable<City>({ name: 'cities', columns, rows })).table;
}

test('tables are created, listed, found by their name, described, renamed and deleted', async () => {
  const { table, rowIDs, version } = await tablog.createTable<City>({ name: 'once', columns, rows: cities(2) });
  expect(rowIDs).toHaveLength(2);
  expect(await table.version()).toBe(version);
  expect(await tablog.tables().toArray()).toContainEqual({ id: table.id, name: 'once' });
  expect((await tablog.find('once'))?.id).toBe(table.id);
  const renamed = await table.update({ name: 'twice' });
  expect(await table.describe()).toMatchObject({
    name: 'twice',
    rows: 2,
    schema: { columns: [{ id: 'name' }, { id: 'visits' }, { id: 'tags' }] },
  });
  await expect(table.drop({ ifMatch: version })).rejects.toMatchObject({ status: 412 });
  await table.drop({ ifMatch: renamed });
  expect(await tablog.find('once')).toBeUndefined();
  for (let n = 0; n < 2; n += 1) await tablog.createTable<City>({ name: 'namesake', columns });
  await expect(tablog.find('namesake')).rejects.toMatchObject({
    name: 'TablogError',
    status: null,
    type: null,
    message: expect.stringMatching(/^2 tables are named "namesake": /),
  });
  await expect(table.describe()).rejects.toMatchObject({ name: 'TablogError', status: 404, type: 'table_not_found' });
});

test('an operator creates a team, limits it, and gives it a token', async () => {
  const [, token] = /(tablog_\S+)/.exec(
    (await runTablog(['tokens', 'create', '--operator'], { DATA_DIR: server.folder })).stdout,
  )!;
  const { operator } = new Tablog({ url: server.url, token: token! });
  const { id } = await operator.createTeam('made');
  expect(await operator.teams().toArray()).toContainEqual(expect.objectContaining({ id, name: 'made' }));
  expect((await operator.setPlan(id, { rowsMax: 1 })).quotas.rows).toEqual({ used: 0, max: 1, setBy: 'plan' });
  const made = await operator.createToken(id, { name: 'client' });
  const ofTeam = new Tablog({ url: server.url, token: made.token });
  await expect(ofTeam.createTable({ name: 'two', rows: cities(2) })).rejects.toMatchObject({
    type: 'payment_required',
  });
  await expect(ofTeam.operator.partitions()).rejects.toMatchObject({ status: 403, type: 'forbidden' });
  expect(await operator.suspend(id)).toMatchObject({ suspended: true });
  // The bytes of today are counted a moment later.
  const { quotas: _quotas, ...resumed } = await operator.resume(id);
  expect(await operator.team(id)).toMatchObject({ ...resumed, suspended: false });
  expect(await operator.tokens(id).toArray()).toMatchObject([{ id: made.id, name: 'client', revoked: false }]);
  await operator.revoke(made.id);
  expect(await operator.tokens(id).toArray()).toMatchObject([{ id: made.id, revoked: true }]);
  const another = await operator.createOperatorToken({ expires: '2999-01-31T00:00:00Z' });
  expect((await operator.operatorTokens().toArray()).map((one) => one.id)).toContain(another.id);
  expect(await operator.partitions()).toHaveLength(12);
  expect([await operator.quarantine(), await operator.release(id)]).toEqual([
    [],
    { teamID: id, released: true, error: null },
  ]);
});

test('rows are added, read, patched unless another client was faster, and deleted', async () => {
  const table = await makeTable([]);
  const {
    data: {
      rowIDs: [first, second],
    },
  } = await table.add(cities(2));
  const { data: row, version } = await table.row(first!);
  expect(row).toEqual({ $rowID: first, ...city(0) });
  const next = await table.patch(first!, { visits: 7, tags: null }, { ifMatch: version });
  await expect(table.patch(first!, { visits: 8 }, { ifMatch: version })).rejects.toMatchObject({
    type: 'precondition_failed',
  });
  expect(await table.row(first!)).toEqual({ data: { $rowID: first, name: 'city 0', visits: 7 }, version: next });
  await table.delete(second!);
  expect((await table.rows().toArray()).map(({ visits }) => visits)).toEqual([7]);
});

test('rows are changed in a batch, all or none, and by a filter', async () => {
  const table = await makeTable(cities(4));
  const [first, second] = (await table.rows().toArray()).map(({ $rowID }) => $rowID);
  const { version } = await table.row(first!);
  const changed = await table.batch([
    { op: 'patch', rowID: first!, row: { visits: 10, tags: null }, ifMatch: version },
    { op: 'add', row: city(5) },
    { op: 'delete', rowID: second! },
    { op: 'patch', rowID: first!, row: { visits: 10 } },
  ]);
  expect(changed).toMatchObject({ added: 1, patched: 1, deleted: 1, unchanged: 1, droppedCells: 0 });
  expect([changed.data.rowIDs[0], changed.version]).toEqual([first, await table.version()]);
  await expect(
    table.batch(
      [
        { op: 'add', row: city(6) },
        { op: 'delete', rowID: first!, ifMatch: version },
      ],
      { ifMatch: version },
    ),
  ).rejects.toMatchObject({ type: 'precondition_failed' });
  const isEven = { column: 'tags', op: 'has', value: 'even' } as const;
  expect((await table.patchWhere(isEven, { visits: 0 }, { dryRun: true })).data.rowIDs).toHaveLength(1);
  expect(await table.patchWhere(isEven, { visits: 0 })).toMatchObject({ patched: 1, unchanged: 0 });
  expect(await table.deleteWhere({ column: 'visits', op: 'gt', value: 4 })).toMatchObject({ deleted: 2 });
  expect((await table.rows().toArray()).map(({ name, visits }) => [name, visits])).toEqual([
    ['city 2', 0],
    ['city 3', 3],
  ]);
});

test('rows are upserted by the key of their table', async () => {
  const table = await makeTable(cities(2));
  await expect(table.upsert([city(1)])).rejects.toMatchObject({ type: 'request_validation_error' });
  await table.update({ key: ['name'] });
  const changed = await table.upsert([{ name: 'city 1', visits: null }, city(2), { name: 'city 0' }]);
  expect(changed).toMatchObject({ added: 1, patched: 1, unchanged: 1, deleted: 0 });
  expect(await table.batch([{ op: 'upsert', row: { name: 'city 2', visits: 7 } }])).toMatchObject({ patched: 1 });
  const rows = await table.rows().toArray();
  expect(rows.map(({ name, visits }) => [name, visits])).toEqual([
    ['city 0', 0],
    ['city 1', undefined],
    ['city 2', 7],
  ]);
  expect(changed.data.rowIDs).toEqual([rows[1]!.$rowID, rows[2]!.$rowID, rows[0]!.$rowID]);
});

test('lists are read page by page as they are iterated, also the rows of a query', async () => {
  const table = await makeTable(cities(25));
  const sizes: number[] = [];
  for await (const { data } of table.rows({ limit: 10 }).pages()) sizes.push(data.length);
  expect(sizes).toEqual([10, 10, 5]);
  const names: (string | undefined)[] = [];
  for await (const { name } of table.rows({
    filter: { column: 'visits', op: 'lt', value: 5 },
    sort: ['-visits'],
    fields: ['name'],
    limit: 2,
  }))
    names.push(name);
  expect(names).toEqual(['city 4', 'city 3', 'city 2', 'city 1', 'city 0']);
  expect(await table.count({ column: 'tags', op: 'has', value: 'even' })).toBe(13);
  await table.add([city(24)]);
  expect(
    (
      await table
        .groups({
          groupBy: ['name'],
          aggregate: [{ op: 'sum', column: 'visits', as: 'total' }],
          sort: ['-total'],
          limit: 20,
        })
        .toArray()
    ).slice(0, 2),
  ).toEqual([
    { name: 'city 24', total: 48 },
    { name: 'city 23', total: 23 },
  ]);
  const { data, columns: found } = await tablog.sql<{ total: number }>(
    `select sum(visits) as total from "${table.id}" where visits > $1`,
    [22],
  );
  expect([data, found]).toEqual([[{ total: 71 }], [{ name: 'total', type: 'number' }]]);
});

describe('rows are loaded', () => {
  async function* slowly(count: number): AsyncGenerator<City> {
    for (let n = 0; n < count; n += 1) yield city(n);
  }

  test.each([
    ['an array', () => cities(2500)],
    ['an async iterable', () => slowly(2500)],
    ['a stream', () => ReadableStream.from(slowly(2500)) as ReadableStream<City>],
  ])('from %s, in parts', async (_name, source) => {
    const table = await makeTable(cities(1));
    const told: number[] = [];
    const loaded = await table.load(source(), { onProgress: ({ rowsSent }) => told.push(rowsSent) });
    expect(loaded).toEqual({ rows: 2500, version: await table.version(), droppedCells: 0 });
    expect([told.at(-1), told.length > 2, (await table.describe()).rows]).toEqual([2500, true, 2501]);
    await table.load(cities(3), { mode: 'overwrite' });
    expect((await table.rows().toArray()).map(({ name }) => name)).toEqual(['city 0', 'city 1', 'city 2']);
  });

  test('no row is loaded if one does not fit', async () => {
    const table = await makeTable(cities(1));
    const rows = [...cities(1500), { ...city(1), visits: 'many' as unknown as number }];
    await expect(table.load(rows)).rejects.toMatchObject({ message: expect.stringContaining('visits') });
    expect((await table.describe()).rows).toBe(1);
    expect(await table.load(rows, { onSchemaError: 'dropColumns' })).toMatchObject({ rows: 1501, droppedCells: 1 });
  });

  test('rows are read no faster than they can be sent, and no more are read after a part has failed', async () => {
    const table = await makeTable([]);
    let taken = 0;
    const endless = async function* (): AsyncGenerator<City> {
      for (;;) {
        taken += 1;
        yield taken === 1500 ? ({ name: '\u0000' } as City) : city(taken);
      }
    };
    await expect(table.load(endless())).rejects.toBeInstanceOf(TablogError);
    expect(taken).toBeLessThan(20_000);
  });
});

test('a file is read while the service writes it', async () => {
  const table = await makeTable(cities(2));
  const { data, version } = await table.export('csv', { sort: ['-visits'], fields: ['name', 'visits'] });
  expect([await new Response(data).text(), version]).toEqual([
    expect.stringMatching(/^\$rowID,name,visits\n[^,]+,city 1,1\n[^,]+,city 0,0\n$/),
    await table.version(),
  ]);
});

describe('a file is uploaded', () => {
  const bytes = new TextEncoder().encode('Hello.');
  const options = { fileName: 'hello.txt', contentType: 'text/plain' };

  test.each([
    ['bytes', () => bytes],
    ['a blob', () => new Blob([bytes])],
    ['a stream', () => new Blob([bytes]).stream() as ReadableStream<Uint8Array<ArrayBuffer>>],
  ])('a file is uploaded from %s', async (_name, file) => {
    const { id, url } = await tablog.upload('shop', file(), options);
    expect(await (await fetch(url)).text()).toBe('Hello.');
    for await (const newest of tablog.uploads()) {
      expect(newest).toMatchObject({ id, appID: 'shop', status: 'complete', ...options, size: 6 });
      expect(new URL(newest.url!).pathname).toBe(new URL(url).pathname);
      break;
    }
  });

  test('an upload that fails is given up', async () => {
    const stopping = new AbortController();
    const client = new Tablog({ url: server.url, token: await server.token(), signal: stopping.signal });
    const stopped = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('no more bytes')),
    });
    await expect(client.upload('other', stopped, options)).rejects.toThrow('no more bytes');
    await expect(client.upload('other', new Uint8Array(101 * 2 ** 20), options)).rejects.toMatchObject({
      status: 413,
      type: 'payload_too_large',
    });
    const ofOther = (await tablog.uploads().toArray()).filter(({ appID }) => appID === 'other');
    expect(ofOther.map(({ status }) => status)).toEqual(['withdrawn']);
  });
});

test('a team sees its jobs, its token and its usage', async () => {
  const table = await makeTable([]);
  await table.load(cities(2));
  const jobs = await tablog.jobs({ limit: 1 }).toArray();
  expect(jobs.find(({ tableID }) => tableID === table.id)).toMatchObject({
    operation: 'addRows',
    status: 'succeeded',
    progress: { phase: 'done', rowsDone: 2 },
  });
  const { team, readOnly } = await tablog.token();
  const { quotas, team: same } = await tablog.usage();
  expect([same, readOnly, quotas.rows.used > 0]).toEqual([team, false, true]);
  const { minutes, log } = await tablog.activity();
  expect([minutes.some(({ rowsWritten }) => rowsWritten > 0), log.halted]).toEqual([true, null]);
});

describe('requests are sent again', () => {
  const closers: (() => unknown)[] = [];
  afterEach(() => closers.splice(0).forEach((close) => close()));

  /** A server that gives these answers in turn, and then repeats the last one. */
  async function answering(
    ...answers: readonly (readonly [status: number, body: object, headers?: object] | 'break')[]
  ): Promise<{ readonly client: Tablog; readonly asked: { method: string; key: string | undefined; body: string }[] }> {
    const asked: { method: string; key: string | undefined; body: string }[] = [];
    const double = createServer(
      (request: IncomingMessage, response) =>
        void (async () => {
          const answer = answers[Math.min(asked.length, answers.length - 1)]!;
          asked.push({
            method: request.method!,
            key: request.headers['idempotency-key'] as string | undefined,
            body: await text(request),
          });
          if (answer === 'break') request.socket.destroy();
          else response.writeHead(answer[0], { etag: '"7"', ...answer[2] }).end(JSON.stringify(answer[1]));
        })(),
    );
    await once(double.listen(0, '127.0.0.1'), 'listening');
    closers.push(() => double.close());
    return {
      client: new Tablog({
        url: `http://127.0.0.1:${(double.address() as AddressInfo).port}`,
        token: 'x',
        patienceMs: 10_000,
      }),
      asked,
    };
  }
  const away = [503, { error: { type: 'service_unavailable', message: 'later' } }] as const;
  const added = [201, { data: { rowIDs: ['a'] } }] as const;

  test('with the same key, until they are answered', async () => {
    const { client, asked } = await answering(
      away,
      'break',
      [429, { error: { type: 'rate_limited', message: 'slower' } }, { 'retry-after': '1' }],
      added,
    );
    expect(await client.table('t').add([{ n: 1 }])).toMatchObject({ data: { rowIDs: ['a'] }, version: '"7"' });
    expect(asked).toEqual(Array.from({ length: 4 }, () => ({ method: 'POST', key: asked[0]!.key, body: '[{"n":1}]' })));
    expect(asked[0]!.key).toMatch(/^[0-9a-f]{32}$/);
  });

  test('a refused request is not sent again', async () => {
    const { client, asked } = await answering([422, { error: { type: 'column_has_invalid_value', message: 'no' } }]);
    await expect(client.table('t').add([{}])).rejects.toMatchObject({
      status: 422,
      type: 'column_has_invalid_value',
      message: 'no',
    });
    expect(asked).toHaveLength(1);
  });

  test('a request is not sent again to a server that never answered, or does not answer as Tablog does', async () => {
    const { client, asked } = await answering('break');
    await expect(client.tables().toArray()).rejects.toBeInstanceOf(Unreachable);
    expect(asked).toHaveLength(1);
    const { client: other } = await answering([404, {}]);
    await expect(other.tables().toArray()).rejects.toMatchObject({
      status: 404,
      type: null,
      message: expect.stringContaining('Check the URL.'),
    });
  });
});
