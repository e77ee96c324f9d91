/** Spec section 3, 4.8 and 4.9, decisions 3, with the bytes in an S3: clients send them straight to it. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '../../src/app/config.ts';
import { openFileStore } from '../../src/storage/files/open-file-store.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { startS3, type S3Server } from '../support/s3/seaweedfs.ts';
import { describeUploads } from '../support/upload-cases.ts';
import { complete, postUpload, sendBytes, upload } from '../support/uploads.ts';

const sizeMax = 1_000_000;
let s3: S3Server;

beforeAll(async () => {
  s3 = await startS3();
});

const { api, client } = useOwnApi(() => ({
  UPLOAD_SIZE_MAX_BYTES: String(sizeMax),
  MAINTENANCE_INTERVAL_MS: '3600000',
  ...s3.settings,
}));
const operator = useOperator({ api });

afterAll(async () => {
  await s3?.remove();
});

describeUploads(
  { api, client },
  {
    // Bytes that it accepts afterwards belong to no upload, and garbage collection removes them.
    completed: '200',
    ended: '200',
    otherType: '403',
    changed: '403',
  },
);

/** The names of all that was sealed. */
async function filesInBucket(): Promise<string[]> {
  const files = await openFileStore(readConfig(s3.settings), operator().keys);
  try {
    const objects = await Array.fromAsync(files.list(Number.MAX_SAFE_INTEGER));
    return objects.flatMap((object) => (object.kind === 'file' ? [object.name] : []));
  } finally {
    await files.close();
  }
}

test('bytes go to the S3, at a URL of the upload', async () => {
  const created = await postUpload(client());
  expect(created.location).toContain(`${s3.endpoint}/${s3.bucket}/arrived/${created.id}?`);
});

test('a file that is too large is refused and removed when the upload is completed', async () => {
  const { url } = await upload(client(), randomBytes(sizeMax));
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe(String(sizeMax));
  const created = await postUpload(client());
  expect(await sendBytes(created, randomBytes(sizeMax + 1))).toBe('200');
  const before = await filesInBucket();
  expect(outcomeOf(await complete(client(), created))).toBe('413 payload_too_large');
  // It was not even copied.
  expect(await filesInBucket()).toEqual(before);
  expect(outcomeOf(await complete(client(), created))).toBe('404 upload_not_found');
});
