/** Spec section 3, 4.8 and 4.9, decisions 3: an upload from its creation to the public URL of the file. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { describeUploads } from '../support/upload-cases.ts';
import { complete, postUpload, picture, sendBytes, upload } from '../support/uploads.ts';

const sizeMax = 1_000_000;
const { api, client } = useOwnApi({ UPLOAD_SIZE_MAX_BYTES: String(sizeMax) });

describeUploads(
  { api, client },
  {
    completed: '409 upload_completed',
    ended: '404 upload_not_found',
    otherType: '400 request_validation_error',
    changed: '403 forbidden',
  },
);

test('the URL for the bytes has the address to which the client sent its request', async () => {
  const created = await postUpload(client());
  expect(created.location).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:\\d+/uploads/${created.id}\\?`));
});

test('a file may have exactly as many bytes as an upload allows', async () => {
  const { url } = await upload(client(), randomBytes(sizeMax));
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe(String(sizeMax));
  const created = await postUpload(client());
  expect(await sendBytes(created, randomBytes(sizeMax + 1))).toBe('413 payload_too_large');
  // Without a Content-Length the service has to count.
  const chunks = new Blob([randomBytes(sizeMax), 'x']).stream();
  expect(await sendBytes(created, chunks)).toBe('413 payload_too_large');
  expect(outcomeOf(await complete(client(), created))).toBe('409 upload_incomplete');
});

test('repeated creations under one Idempotency-Key make one upload', async () => {
  const key = { 'idempotency-key': 'one' };
  const [first, again] = [
    await client().post('/apps/shop/uploads', picture, key),
    await client().post('/apps/shop/uploads', picture, key),
  ];
  // The upload location in the answer has the address of the process that answered.
  const withoutHost = ({ text }: Answer): string => text.replaceAll(/http:\/\/[^/]*/g, '');
  expect(withoutHost(again)).toBe(withoutHost(first));
  expect(outcomeOf(await client().post('/apps/shop/uploads', { ...picture, fileName: 'other.png' }, key))).toBe(
    '400 idempotency_key_reused',
  );
});

describe('a creation', () => {
  test.each<[string, object]>([
    ['a media type with parameters', { contentType: 'text/plain; charset="utf-8"' }],
    ['a name with blanks and quotes', { fileName: 'my "best" photo; 1.png' }],
    ['a name in another script', { fileName: '写真 №1.png' }],
    ['what older clients send besides', { contentLength: sizeMax, checksum: 'abc' }],
  ])('may have %s', async (_what, changes) => {
    expect(outcomeOf(await client().post('/apps/shop/uploads', { ...picture, ...changes }))).toBe('200');
  });

  test.each<[string, unknown, string, string]>([
    ['no file name', { contentType: 'image/png' }, '400 request_validation_error', 'fileName'],
    ['no media type', { fileName: 'a' }, '400 request_validation_error', 'contentType'],
    ['an empty name', { ...picture, fileName: '' }, '400 request_validation_error', 'fileName'],
    ['a path', { ...picture, fileName: '../etc/passwd' }, '400 request_validation_error', 'fileName'],
    ['a path of Windows', { ...picture, fileName: 'a\\b' }, '400 request_validation_error', 'fileName'],
    ['the name of a folder', { ...picture, fileName: '..' }, '400 request_validation_error', 'fileName'],
    ['a line feed in a name', { ...picture, fileName: 'a\nb' }, '400 request_validation_error', 'fileName'],
    ['a control character', { ...picture, fileName: 'a\u0085b' }, '400 request_validation_error', 'fileName'],
    ['a long name', { ...picture, fileName: 'a'.repeat(256) }, '400 request_validation_error', 'fileName'],
    [
      'a media type without a subtype',
      { ...picture, contentType: 'image' },
      '400 request_validation_error',
      'contentType',
    ],
    [
      'a media type with a header behind it',
      { ...picture, contentType: 'image/png\r\nx: y' },
      '400 request_validation_error',
      'contentType',
    ],
    [
      'a media type of another script',
      { ...picture, contentType: 'bild/ü' },
      '400 request_validation_error',
      'contentType',
    ],
    [
      'a long media type',
      { ...picture, contentType: `a/${'b'.repeat(254)}` },
      '400 request_validation_error',
      'contentType',
    ],
    ['an array', [], '400 request_validation_error', 'the body'],
    ['a text that is no JSON', '{', '400 request_validation_error', ''],
    [
      'too many bytes announced',
      { ...picture, contentLength: sizeMax + 1 },
      '413 payload_too_large',
      `${sizeMax} bytes`,
    ],
  ])('with %s is refused', async (_what, body, outcome, message) => {
    const answer = await client().post('/apps/shop/uploads', body);
    expect(outcomeOf(answer)).toBe(outcome);
    expect(answer.json.error.message).toContain(message);
  });

  test('is refused for an app whose ID is too long', async () => {
    expect(outcomeOf(await client().post(`/apps/${'a'.repeat(257)}/uploads`, picture))).toBe(
      '400 request_validation_error',
    );
  });
});

describe('bytes', () => {
  test.each<[what: string, headers: Readonly<Record<string, string>>, outcome: string, contentType: string]>([
    ['of the type in another spelling', { 'content-type': 'IMAGE/PNG' }, '200', 'image/png'],
    [
      'of a charset in another spelling',
      { 'content-type': 'text/plain; b="1"; charset=utf-8' },
      '200',
      'text/plain;charset=UTF-8;b=1',
    ],
    ['with another parameter', { 'content-type': 'text/plain;b=X' }, '400 request_validation_error', 'text/plain;b=x'],
    [
      'that are a part',
      { 'content-type': 'image/png', 'content-range': 'bytes 2-4/5' },
      '400 request_validation_error',
      'image/png',
    ],
    [
      'that are compressed',
      { 'content-type': 'image/png', 'content-encoding': 'gzip' },
      '400 request_validation_error',
      'image/png',
    ],
  ])('bytes %s are judged by their type', async (_what, headers, outcome, contentType) => {
    expect(await sendBytes(await postUpload(client(), { ...picture, contentType }), 'bytes', headers)).toBe(outcome);
  });

  test('for an altered URL are refused', async () => {
    const { location } = await postUpload(client());
    const other = await postUpload(client());
    const changed = (change: (url: URL) => void): string => {
      const url = new URL(location);
      change(url);
      return url.href;
    };
    for (const url of [
      changed((url) => url.searchParams.set('sizeMax', String(10 * sizeMax))),
      changed((url) => url.searchParams.set('contentType', 'text/html')),
      changed((url) => url.searchParams.set('expiresAt', String(Date.now() + 10 ** 10))),
      changed((url) => url.searchParams.set('x', '1')),
      changed((url) => url.searchParams.delete('signature')),
      changed((url) => {
        url.pathname = `/uploads/${other.id}`;
      }),
      changed((url) => {
        url.search = '';
      }),
    ]) {
      expect([url, await sendBytes({ location: url }, 'bytes')]).toEqual([url, '403 forbidden']);
    }
    expect(await sendBytes({ location }, 'bytes')).toBe('200');
  });
});
