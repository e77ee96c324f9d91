/**
 * The disk with the files is full for a while: bytes that do not fit are refused and leave nothing behind, and
 * everything else goes on.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { Client, outcomeOf } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { complete, postUpload, picture, sendBytes, upload } from '../support/uploads.ts';

const run = promisify(execFile);
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/**
 * Limits the files that this process writes to this many bytes. For the process, that is a disk without more space, and
 * the test need not be root.
 */
async function setRoom(pid: number, bytes: number | 'unlimited'): Promise<void> {
  await run('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`]);
}

test('bytes without space are refused, and accepted when there is space again', async () => {
  const [folder, database] = await Promise.all([mkdtemp(join(tmpdir(), 'tablog-files-')), createDatabase()]);
  closers.push(
    () => rm(folder, { recursive: true, force: true }),
    () => database.drop(),
  );
  const server = await startServer({ databaseUrl: database.url, environment: { FILES_DIR: folder } });
  closers.push(() => server.stop());
  const client = new Client(server.url, await server.token());
  const bytes = randomBytes(2_000_000);
  const file = await upload(client, bytes);
  const [empty, replaced] = [await postUpload(client), await postUpload(client)];
  expect(await sendBytes(replaced, 'before')).toBe('200');

  await setRoom(server.process.pid!, 100_000);
  const refused = await fetch(empty.location, {
    method: 'PUT',
    body: bytes,
    headers: { 'content-type': picture.contentType },
  });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
  expect(await refused.json()).toEqual({ error: { type: 'service_unavailable', message: expect.any(String) } });
  // Several at once. Bytes that arrived earlier stay.
  const outcomes = await Promise.all([empty, replaced, empty, replaced].map((one) => sendBytes(one, bytes)));
  expect(outcomes).toEqual(Array.from(outcomes, () => '503 service_unavailable'));
  expect(await readdir(join(folder, 'temporary'))).toEqual([]);
  expect((await readdir(join(folder, 'arrived'))).toSorted()).toEqual([file.id, replaced.id].toSorted());
  expect(outcomeOf(await complete(client, empty))).toBe('409 upload_incomplete');

  const small = await upload(client, 'a small one');
  expect(await (await fetch(small.url)).text()).toBe('a small one');
  expect(Buffer.from(await (await fetch(file.url)).arrayBuffer()).equals(bytes)).toBe(true);
  const table = await createTable(client, [{ n: file.url }]);
  expect(await client.rows(table.id)).toHaveLength(1);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);

  const { url } = (await complete(client, replaced)).json.data;
  expect(await (await fetch(url)).text()).toBe('before');

  await setRoom(server.process.pid!, 'unlimited');
  expect(await sendBytes(empty, bytes)).toBe('200');
  const answer = await complete(client, empty);
  expect(outcomeOf(answer)).toBe('200');
  expect(Buffer.from(await (await fetch(answer.json.data.url)).arrayBuffer()).equals(bytes)).toBe(true);
});

test('a large body without space for its spool is refused, and changes nothing', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const server = await startServer({ databaseUrl: database.url });
  closers.push(() => server.stop());
  const client = new Client(server.url, await server.token());
  const { path } = await createTable(client, [{ text: 'first' }]);
  const version = (await client.head(path)).version;
  const rows = Array.from({ length: 3000 }, () => ({ text: randomBytes(600).toString('base64') }));

  await setRoom(server.process.pid!, 100_000);
  const refused = await client.post(path, rows);
  expect([outcomeOf(refused), refused.headers.get('retry-after')]).toEqual(['503 service_unavailable', '1']);
  expect((await client.head(path)).version).toBe(version);
  expect(outcomeOf(await client.post(path, [{ text: 'second' }]))).toBe('201');

  await setRoom(server.process.pid!, 'unlimited');
  expect(outcomeOf(await client.post(path, rows))).toBe('201');
  expect(await readdir(join(server.folder, 'bodies'))).toEqual([]);
  // No spool stays open: even without a name, it would take its space.
  const opened = await Promise.all(
    (await readdir(`/proc/${server.process.pid}/fd`)).map((fd) =>
      readlink(`/proc/${server.process.pid}/fd/${fd}`).catch(() => ''),
    ),
  );
  expect(opened.filter((file) => file.includes('/bodies/'))).toEqual([]);
  expect(await client.rows(path.split('/')[2]!)).toHaveLength(3002);
});
