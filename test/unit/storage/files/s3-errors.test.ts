/** What is made of the answers of an S3, as the SDK tells of them. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';
import { StoreAway } from '../../../../src/storage/files/file-store.ts';
import { S3FileStore } from '../../../../src/storage/files/s3-file-store.ts';

/** What is answered to everything; null: what an empty bucket says. A real S3 cannot be brought to say all of it. */
let answer: { readonly status: number; readonly code: string } | null = null;
const emptyList = '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';

const server = createServer((request, response) => {
  request.resume();
  const body =
    answer === null
      ? emptyList
      : `<?xml version="1.0"?><Error><Code>${answer.code}</Code><Message>as it says</Message></Error>`;
  response.writeHead(answer?.status ?? 200, { 'content-type': 'application/xml' });
  response.end(request.method === 'HEAD' ? undefined : body);
});

beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});

afterAll(() => {
  server.close();
});

function open(): Promise<S3FileStore> {
  return S3FileStore.open({
    bucket: 'files',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    publicEndpoint: null,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    isPathStyle: true,
    prefix: '',
    requestsMax: 2,
    idleTimeout: 10_000,
  });
}

/** What a request to the store rejects with, and the problem that a start would have: null where it waits. */
type Case = readonly [status: number, code: string, running: 'away' | 'refused', start: RegExp | null];

describe('an answer', () => {
  test.each<Case>([
    [400, 'ExpiredToken', 'away', /^FILES_S3_ACCESS_KEY_ID: /],
    [400, 'TokenRefreshRequired', 'away', /^FILES_S3_ACCESS_KEY_ID: /],
    [403, 'RequestTimeTooSkewed', 'away', null],
    [400, 'RequestTimeout', 'away', null],
    [503, 'SlowDown', 'away', null],
    [429, 'TooManyRequests', 'away', null],
    [500, 'InternalError', 'away', null],
    [507, 'InsufficientStorage', 'away', null],
    [400, 'InvalidToken', 'refused', /^FILES_S3_ACCESS_KEY_ID: /],
    [403, 'InvalidAccessKeyId', 'refused', /^FILES_S3_ACCESS_KEY_ID: /],
    [403, 'SignatureDoesNotMatch', 'refused', /^FILES_S3_ACCESS_KEY_ID: /],
    [403, 'AccessDenied', 'refused', /^FILES_S3_BUCKET: the key may not list /],
    [404, 'NoSuchBucket', 'refused', /^FILES_S3_BUCKET: there is no bucket /],
    [400, 'AuthorizationHeaderMalformed', 'refused', /^FILES_S3_REGION: /],
    [400, 'InvalidRequest', 'refused', /^FILES_S3_ENDPOINT: .*as it says \(InvalidRequest\)$/],
  ])('an answer of %i %s is an error that says what to do', async (status, code, running, start) => {
    answer = null;
    const store = await open();
    answer = { status, code };
    const refusal = running === 'away' ? expect.any(StoreAway) : expect.objectContaining({ name: code });
    const problem =
      start === null ? { name: 'StoreAway' } : { name: 'ConfigError', problems: [expect.stringMatching(start)] };
    // At once, because some are tried for seconds.
    await Promise.all([
      expect(store.read(newFileName())).rejects.toEqual(refusal),
      expect(store.remove({ kind: 'file', name: newFileName() })).rejects.toEqual(refusal),
      expect(open()).rejects.toMatchObject(problem),
    ]);
    await store.close();
  });

  const upload = { uploadId: '0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e', contentType: 'text/plain', sizeMax: 10 };

  test.each<readonly [number, string]>([
    // So the answer to a HEAD looks while the credentials have run out.
    [400, 'StoreAway'],
    [503, 'StoreAway'],
    [403, 'Unknown'],
  ])('an answer of %i without a body rejects with %s', async (status, name) => {
    answer = null;
    const store = await open();
    answer = { status, code: 'not sent' };
    await expect(store.seal(upload, newFileName())).rejects.toMatchObject({ name });
    await store.close();
  });
});
