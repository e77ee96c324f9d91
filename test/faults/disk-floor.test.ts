/** A disk has less free space than it must keep: large writes are refused, and everything else goes on. */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from '@jest/globals';
import { createTeam, createToken } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { dayOf, noteLogBytes, readLogBytes } from '../../src/api/usage/log-bytes-notes.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createDatabase } from '../support/postgres.ts';
import { openOperator } from '../support/open-operator.ts';
import { sleepUntil, startServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { complete, postUpload, picture, sendBytes, upload } from '../support/uploads.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** Each answer has a newly signed upload URL. */
const withoutSignature = (text: string): string => text.replaceAll(/\?[^"]*/g, '');

const rows = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, n) => ({ n, text: 'some text to fill it' })));
const large = rows(3000);

test('large bodies, chunks and uploads are refused until there is room again', async () => {
  const [folder, database] = await Promise.all([mkdtemp(join(tmpdir(), 'tablog-files-')), createDatabase()]);
  closers.push(
    () => rm(folder, { recursive: true, force: true }),
    () => database.drop(),
  );
  const files = join(folder, 'files');
  // The file system of /proc never has free space.
  const moveFilesTo = async (target: string): Promise<void> => {
    await symlink(target, `${files}.new`);
    await rename(`${files}.new`, files);
  };
  await mkdir(join(folder, 'disk'));
  await moveFilesTo(join(folder, 'disk'));
  const server = await startServer({
    databaseUrl: database.url,
    environment: { FILES_DIR: files, DISK_FREE_MIN: '1', LOG_LEVEL: 'info' },
  });
  closers.push(() => server.stop());
  const client = new Client(server.url, await server.token());
  const send = (
    path: string,
    body: RequestInit['body'],
    headers: Record<string, string> = {},
    method = 'POST',
  ): Promise<Response> =>
    fetch(`${server.url}${path}`, {
      method,
      body,
      headers: { 'authorization': `Bearer ${client.token}`, 'content-type': 'application/json', ...headers },
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    } as RequestInit);
  const inPieces = (text: string): ReadableStream =>
    ReadableStream.from(text.match(/[^]{1,10000}/g)!.map((piece) => Buffer.from(piece)));
  const freeBytes = async (): Promise<number> =>
    sumOf(parseMetrics(await (await fetch(`${server.url}/metrics`)).text()), 'tablog_disk_free_bytes', {
      folder: 'files',
    }) ?? NaN;
  const untilCreating = async (status: number): Promise<void> => {
    while ((await client.post('/apps/shop/uploads', picture)).status !== status) await sleep(200);
  };

  const table = await createTable(client, [
    { n: 1, text: 'a' },
    { n: 2, text: 'b' },
  ]);
  const [open, file] = [await postUpload(client), await upload(client, 'some bytes')];
  expect(await sendBytes(open, 'before')).toBe('200');
  expect(await freeBytes()).toBeGreaterThan(0);
  const [other, half] = [await postUpload(client), await postUpload(client)];
  await sendBytes(other, 'of a keyed request');
  await sendBytes(half, 'never completed');
  const longText = (letter: string): string => `{"text":"${letter.repeat(70_000)}"}`;
  const changed = await createTable(client, [{ n: 1, text: 'a' }]);
  const keyed: [string, (key: string) => Promise<Response>][] = [
    ['a large body', (key) => send('/tables?name=large', large, { 'idempotency-key': key })],
    ['a body of several blocks', (key) => send(`/tables/${changed.id}/rows`, rows(20_000), { 'idempotency-key': key })],
    [
      'a body of unknown length',
      (key) => send(`/tables/${changed.id}/rows`, inPieces(large), { 'idempotency-key': `in pieces ${key}` }),
    ],
    [
      'a compressed body',
      (key) =>
        send(`/tables/${changed.id}/rows`, gzipSync(large), {
          'idempotency-key': `compressed ${key}`,
          'content-encoding': 'gzip',
        }),
    ],
    [
      'a large patch',
      (key) =>
        send(`/tables/${changed.id}/rows/${changed.rowIds[0]}`, longText('a'), { 'idempotency-key': key }, 'PATCH'),
    ],
    ['a chunk', (key) => send(`/stashes/of-${key}/1`, rows(10), { 'idempotency-key': key }, 'PUT')],
    ['an upload', (key) => send('/apps/shop/uploads', JSON.stringify(picture), { 'idempotency-key': key })],
    [
      'completing an upload',
      (key) =>
        send(`/apps/shop/uploads/${key === 'done' ? other.id : half.id}/complete`, '{}', { 'idempotency-key': key }),
    ],
  ];
  const seen = async (response: Response): Promise<unknown> => ({
    status: response.status,
    etag: response.headers.get('etag'),
    text: withoutSignature(await response.text()),
  });
  const firsts = [];
  for (const [, write] of keyed) firsts.push(await seen(await write('done')));
  expect(firsts.map((first) => (first as { status: number }).status)).toEqual([201, 201, 201, 201, 200, 200, 200, 200]);

  await moveFilesTo('/proc');
  await untilCreating(503);
  const refused = await send('/tables?name=large', large);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10']);
  const error = {
    type: 'service_unavailable',
    message: "The service's disk has less than 1 bytes free. This try changed nothing.",
  };
  expect(await refused.json()).toEqual({ error });
  const errorOf = async (response: Promise<Response>): Promise<unknown> =>
    ((await (await response).json()) as { error: unknown }).error;
  for (const body of [inPieces(large), inPieces(rows(20_000))])
    expect(await errorOf(send('/tables?name=large', body))).toEqual(error);
  expect(await errorOf(send('/tables?name=large', gzipSync(large), { 'content-encoding': 'gzip' }))).toEqual(error);
  expect(
    await errorOf(
      send(`/tables/${table.id}/rows/${table.rowIds[0]}`, inPieces(`{"text":"${'a'.repeat(70_000)}"}`), {}, 'PATCH'),
    ),
  ).toEqual(error);
  expect((await client.put('/stashes/stash/1', [{ n: 1 }])).json.error).toEqual(error);
  expect((await client.post('/apps/shop/uploads', picture)).json.error).toEqual(error);
  expect((await complete(client, open)).json.error).toEqual(error);
  expect(
    await errorOf(fetch(open.location, { method: 'PUT', body: 'x', headers: { 'content-type': picture.contentType } })),
  ).toEqual(error);
  // A repeated request with a key gets the outcome of its first try. If no outcome is known, neither this answer nor
  // its job denies that there may be one.
  for (const [at, [, write]] of keyed.entries()) expect(await seen(await write('done'))).toEqual(firsts[at]);
  expect(
    await errorOf(
      send(`/tables/${changed.id}/rows/${changed.rowIds[0]}`, longText('b'), { 'idempotency-key': 'done' }, 'PATCH'),
    ),
  ).toMatchObject({ type: 'idempotency_key_reused' });
  for (const [name, write] of keyed) {
    const answer = await write('new');
    const { error: unknown } = (await answer.json()) as { error: { type: string; message: string } };
    expect([
      name,
      answer.status,
      unknown.type,
      answer.headers.get('tablog-turned-away'),
      answer.headers.get('retry-after'),
    ]).toEqual([name, 503, 'outcome_unknown', 'service_unavailable', '10']);
    expect(unknown.message).toBe(
      `${error.message} An earlier try with the same Idempotency-Key may still take effect: ` +
        'send the request again, or get the job.',
    );
    expect((await client.get(`/jobs/${answer.headers.get('job-id')}`)).json.data).toMatchObject({ status: 'running' });
  }
  expect((await client.get('/jobs')).json.data).toEqual([]);
  expect(await freeBytes()).toBe(0);
  expect(server.output()).toContain('a disk has less free space than DISK_FREE_MIN');

  // Small writes, reads and deletions go on, and no refused request has taken effect.
  expect((await send(`/tables/${table.id}/rows`, rows(10))).status).toBe(201);
  expect((await send(`/tables/${table.id}/rows`, inPieces(rows(10)))).status).toBe(201);
  expect((await send(`/tables/${table.id}/rows`, gzipSync(rows(10)), { 'content-encoding': 'gzip' })).status).toBe(201);
  const [first] = await client.rows(table.id);
  expect((await client.patch(`/tables/${table.id}/rows/${first!.$rowID}`, { n: 5 })).status).toBe(200);
  expect((await client.delete(`/tables/${table.id}/rows/${first!.$rowID}`)).status).toBe(200);
  expect((await client.delete(`/apps/shop/uploads/${file.id}`)).status).toBe(200);
  expect(await client.rows(table.id)).toHaveLength(31);
  expect((await client.get('/tables')).json.data).toHaveLength(3);
  expect((await client.get(`/tables/${changed.id}`)).json.data.rows).toBe(1 + 20_000 + 3000 + 3000);

  await moveFilesTo(join(folder, 'disk'));
  await untilCreating(200);
  for (const body of [large, inPieces(large)]) expect((await send('/tables?name=large', body)).status).toBe(201);
  expect((await client.put('/stashes/stash/1', [{ n: 1 }])).status).toBe(200);
  expect(outcomeOf(await complete(client, open))).toBe('200');
  expect(server.output()).toContain('all disks have DISK_FREE_MIN of free space again');
});

test('when hardly any space is left for the tables, small writes are also refused, and reads and deletions go on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-floor-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const before = await startServer({ folder });
  const client = new Client(before.url, await before.token());
  const table = await createTable(client, [{ n: 1 }, { n: 2 }]);
  const firstRow = (await client.rows(table.id))[0]!.$rowID;
  const keyed = (to: Client, key: string): Promise<Answer>[] => [
    to.post('/tables', { name: 'keyed', rows: [{ n: 1 }] }, { 'idempotency-key': key }),
    to.post(`/tables/${table.id}/rows`, [{ n: 4 }], { 'idempotency-key': key }),
    to.patch(`/tables/${table.id}/rows/${firstRow}`, { n: 1 }, { 'idempotency-key': key }),
    to.patch(`/tables/${table.id}`, { name: 'renamed' }, { 'idempotency-key': key }),
  ];
  const outcomes = async (answers: Promise<Answer>[]): Promise<unknown> =>
    (await Promise.all(answers)).map(({ status, text, version }) => ({ status, text, version }));
  const firsts = [];
  for (const answer of keyed(client, 'done')) firsts.push(...((await outcomes([answer])) as unknown[]));
  await before.stop();

  // No disk has a quarter of this free.
  const server = await startServer({ folder, environment: { DISK_FREE_MIN: '8PB', LOG_LEVEL: 'info' } });
  closers.push(() => server.stop());
  const again = new Client(server.url, client.token);
  const [first, second] = await again.rows(table.id);
  const answers = await Promise.all([
    again.post('/tables?name=small', [{ n: 1 }]),
    again.post(`/tables/${table.id}/rows`, [{ n: 3 }]),
    again.patch(`/tables/${table.id}/rows/${first!.$rowID}`, { n: 5 }),
  ]);
  const error = {
    type: 'service_unavailable',
    message: expect.stringMatching(
      /^The service's disk has less than .* free\. This try changed nothing\.$/,
    ) as unknown,
  };
  for (const answer of answers) expect([answer.status, answer.json.error]).toEqual([503, error]);
  expect(await outcomes(keyed(again, 'done'))).toEqual(firsts);
  for (const answer of await Promise.all(keyed(again, 'new'))) expect(outcomeOf(answer)).toBe('503 outcome_unknown');
  expect((await again.post('/nowhere', [{ n: 1 }])).status).toBe(404);
  expect(server.output()).toContain('the disk of Postgres has less free space than a quarter of DISK_FREE_MIN');
  expect((await again.delete(`/tables/${table.id}/rows/${second!.$rowID}`)).status).toBe(200);
  expect((await again.rows(table.id)).map(({ n }) => n)).toEqual([1, 4]);
});

test('a team that has taken more of the disk today than is left is refused, and other teams go on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-share-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const server = await startServer({ folder, environment: { LOG_LEVEL: 'info' } });
  closers.push(() => server.stop());
  const client = new Client(server.url, await server.token());
  const operator = await openOperator({ DATA_DIR: folder });
  closers.push(() => operator.close());
  const {
    data: {
      team: { id },
    },
  } = (await client.get('/token')).json as { data: { team: { id: string } } };
  const table = await createTable(client, [{ n: 1 }, { n: 2 }]);
  const file = await postUpload(client);
  const [first, second] = table.rowIds.map((rowId) => `/tables/${table.id}/rows/${rowId}`);
  const keyed = (key: string): Promise<Answer> => client.patch(first!, { n: 5 }, { 'idempotency-key': key });
  const applied = await keyed('done');

  // As if it had stored a petabyte today. A team that has the disk for itself may do so.
  const day = dayOf(operator.log.now());
  await noteLogBytes(operator.database.pool, day, new Map([[id, { log: 0, tables: 1e15, files: 0 }]]));
  const untilKnown = async (): Promise<void> => {
    // The count is read twice: when this process notes its own next bytes, and when it reads the total.
    for (let times = 0; times < 2; times += 1) {
      const before = (await readLogBytes(operator.database.pool, day, [id]))[0]!.used;
      expect((await client.patch(first!, { n: 5 })).status).toBe(200);
      await sleepUntil(
        async () => (await readLogBytes(operator.database.pool, day, [id]))[0]!.used > before,
        'the service has noted its bytes',
      );
    }
  };
  await untilKnown();
  expect((await client.patch(first!, { n: 5 })).status).toBe(200);

  const [otherId, token] = [randomUUID(), newAccessToken()];
  await recordFact(operator.log, createTeam(otherId, 'other'));
  await recordFact(operator.log, createToken(otherId, randomUUID(), 'test', hashToken(token)));
  const other = new Client(server.url, token);
  await sleepUntil(
    async () => (await client.patch(first!, { n: 5 })).status === 400,
    'it is refused beside another team',
  );
  const refused = await client.post(`/tables/${table.id}/rows`, [{ n: 3 }]);
  expect(outcomeOf(refused)).toBe('400 limit_exceeded');
  expect(refused.json.error.message).toMatch(
    /^the team has taken about \d+ MiB of the service's disk today, and \d+ [MG]iB are left for all teams: wait until the next day \(UTC\)$/,
  );
  expect(outcomeOf(await client.post('/tables?name=large', JSON.parse(rows(20_000))))).toBe('400 limit_exceeded');
  expect(await sendBytes(file, 'bytes')).toBe('400 limit_exceeded');
  expect(await keyed('done')).toMatchObject({ status: 200, json: applied.json, version: applied.version });
  expect(outcomeOf(await keyed('new'))).toBe('503 outcome_unknown');
  expect(
    sumOf(parseMetrics(await (await fetch(`${server.url}/metrics`)).text()), 'tablog_quota_refusals_total', {
      quota: 'disk_share',
    }),
  ).toBeGreaterThan(3);
  expect(server.output()).toContain('a team has taken its share of the disk for today');

  expect((await client.delete(second!)).status).toBe(200);
  expect(await client.rows(table.id)).toHaveLength(1);
  const others = await createTable(other, [{ n: 1 }]);
  expect((await other.patch(`/tables/${others.id}/rows/${others.rowIds[0]}`, { n: 2 })).status).toBe(200);
  expect((await upload(other, 'some bytes')).url).toMatch(/^http/);
  await sleepUntil(
    async () => (await readLogBytes(operator.database.pool, day, [otherId]))[0]!.files === 'some bytes'.length,
    'the bytes of the file are noted',
  );
  const noted = (await readLogBytes(operator.database.pool, day, [otherId]))[0]!;
  expect(noted.tables).toBeGreaterThan(noted.used);
});
