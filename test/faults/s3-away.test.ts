/** The S3 with the files goes away and comes back. Requests that need it are answered 503, and nothing is lost. */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { startS3, type S3Server } from '../support/s3/seaweedfs.ts';
import { startServer } from '../support/server.ts';
import { complete, postUpload, picture, sendBytes, upload } from '../support/uploads.ts';
import { createTable } from '../support/tables.ts';

let s3: S3Server;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  s3 = await startS3();
});

afterAll(() => s3?.remove());

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

/** Checks the answer to a request while the S3 is away. */
function expectLater(answer: Pick<Answer, 'status' | 'headers'>): void {
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
}

test('while the S3 is away, only requests that need it are answered 503', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const server = await startServer({ databaseUrl: database.url, environment: s3.settings });
  closers.push(() => server.stop());
  const client = new Client(server.url, await server.token());
  const bytes = randomBytes(100_000);
  const file = await upload(client, bytes);
  const [arrived, empty] = [await postUpload(client), await postUpload(client)];
  expect(await sendBytes(arrived, bytes)).toBe('200');

  await s3.kill();
  expectLater(await complete(client, arrived));
  expectLater(await complete(client, empty));
  expectLater(await fetch(file.url));
  await expect(sendBytes(empty, bytes)).rejects.toThrow();
  // Signing a URL needs no S3, and completed uploads are known without it.
  const created = await client.post('/apps/shop/uploads', picture);
  expect(outcomeOf(created)).toBe('200');
  expect(new URL((await complete(client, file)).json.data.url).pathname).toBe(new URL(file.url).pathname);
  expect((await fetch(file.url, { method: 'HEAD' })).status).toBe(200);
  const table = await createTable(client, [{ n: file.url }]);
  expect(await client.rows(table.id)).toHaveLength(1);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);

  await s3.start();
  const late = { id: created.json.data.uploadID, location: created.json.data.uploadLocation };
  expect(await sendBytes(empty, bytes)).toBe('200');
  expect(await sendBytes(late, bytes)).toBe('200');
  for (const one of [arrived, empty, late]) {
    const answer = await complete(client, one);
    expect(outcomeOf(answer)).toBe('200');
    const found = await fetch(answer.json.data.url);
    expect(Buffer.from(await found.arrayBuffer()).equals(bytes)).toBe(true);
  }
  expect(Buffer.from(await (await fetch(file.url)).arrayBuffer()).equals(bytes)).toBe(true);
});

test('a service that is started while its S3 is away starts when the S3 is back', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const options = { databaseUrl: database.url, environment: s3.settings };
  const first = await startServer(options);
  const token = await first.token();
  const file = await upload(new Client(first.url, token), 'bytes');
  expect(await first.stop()).toBe(0);
  await s3.kill();
  const starting = startServer(options);
  closers.push(async () => (await starting).stop());
  await s3.start();
  const path = new URL(file.url).pathname;
  expect(await (await fetch((await starting).url + path)).text()).toBe('bytes');
});
