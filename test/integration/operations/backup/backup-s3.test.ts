/** Backups in an S3: taken of an embedded Postgres, verified, restored to another one, and removed. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from '../../../support/client.ts';
import { useDataFolder } from '../../../support/data-folder.ts';
import { startS3, type S3Server } from '../../../support/s3/seaweedfs.ts';
import { startServer } from '../../../support/server.ts';
import { createTable } from '../../../support/tables.ts';
import { outputOf, runTablog } from '../../../support/tablog.ts';
import { upload } from '../../../support/uploads.ts';

const { folder } = useDataFolder();
let s3: S3Server;

beforeAll(async () => {
  s3 = await startS3();
});

afterAll(async () => {
  await s3?.remove();
});

test('a backup in an S3 is restored from it', async () => {
  const { accessKeyId, secretAccessKey } = s3.credentials;
  // Settings of the AWS SDK, because this service keeps its uploaded files in a folder.
  const access = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  const [source, target] = [
    { ...access, DATA_DIR: join(folder(), 'source') },
    { ...access, DATA_DIR: join(folder(), 'target') },
  ];
  const place = `s3://${s3.bucket}/backups?endpoint=${encodeURIComponent(s3.endpoint)}&pathStyle=true`;
  const keyFile = join(folder(), 'passphrase');
  await writeFile(keyFile, 'correct horse battery staple');
  const server = await startServer({ folder: source.DATA_DIR, environment: source });
  let client: Client;
  let asked: string;
  let file: string;
  try {
    client = new Client(server.url, await server.token());
    const { path } = await createTable(
      client,
      Array.from({ length: 1000 }, (_, n) => ({ n, text: `row ${n}` })),
    );
    asked = path;
    file = new URL((await upload(client, Buffer.alloc(300_000, 'tablog'))).url).pathname;
    await outputOf(['backup', place, '--key-file', keyFile], source);
    const again = JSON.parse(await outputOf(['backup', place, '--key-file', keyFile, '--json'], source));
    expect(await runTablog(['backup', 'verify', place, again.id, '--key-file', keyFile], source)).toMatchObject({
      code: 0,
    });
    const removed = JSON.parse(await outputOf(['backup', 'remove', place, '--keep', '1', '--json'], source));
    expect(removed.sets).toHaveLength(1);
    await outputOf(['restore', place, '--key-file', keyFile], target);
    const restored = await startServer({ folder: target.DATA_DIR, environment: target });
    try {
      const [before, after] = await Promise.all(
        [client, new Client(restored.url, client.token)].map((one) => one.get(`${asked}?limit=1000`)),
      );
      expect(after!.text).toBe(before!.text);
      expect(after!.headers.get('etag')).toBe(before!.headers.get('etag'));
      const bytes = await Promise.all([server, restored].map(async ({ url }) => (await fetch(`${url}${file}`)).text()));
      expect(bytes[1]).toBe(bytes[0]);
      expect(bytes[1]).toHaveLength(300_000);
    } finally {
      await restored.stop();
    }
  } finally {
    await server.stop();
  }
  const missing = await runTablog(['backup', 'list', place.replace(s3.bucket, 'no-such-bucket')], source);
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no bucket no-such-bucket') });
});
