/**
 * Spec section 4.9, decisions 3: the public URLs of files, as browsers and caches use them (RFC 9110, RFC 6266, RFC
 * 8187).
 */
import { rename } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse as parseDisposition } from 'content-disposition';
import { checkUpload } from '../../commands/complete-upload.ts';
import { newFileName } from '../../src/storage/files/new-file-name.ts';
import { signUploadUrl } from '../../src/storage/security/upload-signature.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import { useOwnApi } from '../support/api.ts';
import { fetchChecked } from '../support/interface-document.ts';
import { useOperator } from '../support/operator.ts';
import { digits, publicFilesOf } from '../support/public-files.ts';
import { exchangeRaw } from '../support/raw-http.ts';
import { recordUpload } from '../support/recorded-upload.ts';
import type { Exchange } from '../support/shapes.ts';
import { complete, postUpload, picture, sendBytes, upload, withdraw } from '../support/uploads.ts';

const { api, client } = useOwnApi();
const operator = useOperator({ api });
const { get, outcome, uploadDigits } = publicFilesOf({ api });

/** The `Cache-Control` of every file. */
const caching = 'public, max-age=3600';

let url = '';
let etag = '';
beforeAll(async () => {
  ({ url, etag } = await uploadDigits(client()));
});

describe('a browser', () => {
  test.each([
    ['image/png', 'inline'],
    ['IMAGE/PNG', 'inline'],
    ['image/jpeg; quality="90;1"', 'inline'],
    ['video/mp4', 'inline'],
    ['audio/mpeg', 'inline'],
    ['text/plain;charset=utf-8', 'inline'],
    ['text/plain\t; charset=utf-8', 'inline'],
    ['image/svg+xml', 'attachment'],
    ['Image/SVG+XML; charset=utf-8', 'attachment'],
    ['text/html', 'attachment'],
    ['TEXT/HTML;charset="image/png"', 'attachment'],
    ['text/html; x=png', 'attachment'],
    ['application/xhtml+xml', 'attachment'],
    ['text/xml', 'attachment'],
    ['application/xml', 'attachment'],
    ['application/pdf', 'attachment'],
    ['text/javascript', 'attachment'],
    ['application/octet-stream', 'attachment'],
    ['multipart/x-mixed-replace; boundary=x', 'attachment'],
    ['image/png+xml', 'attachment'],
    ['x-unknown/x-unknown', 'attachment'],
  ])('shows or saves %s: %s', async (contentType, disposition) => {
    const file = await upload(client(), '<script>alert(1)</script>', { contentType, fileName: 'file' });
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await get(file.url, {}, method);
      expect([status, headers.get('content-type'), headers.get('content-disposition')]).toEqual([
        200,
        contentType,
        `${disposition}; filename=file`,
      ]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
      expect(headers.get('cache-control')).toBe(caching);
    }
  });

  test.each([
    ['photo.png', 'filename=photo.png'],
    ['my photo.png', 'filename="my photo.png"'],
    ['a "best"; 1.png', String.raw`filename="a \"best\"; 1.png"`],
    ["it's (1)*!~.png", null],
    ['100%.png', 'filename=100%.png'],
    ['%41%2F%00.png', "filename=%41%2F%00.png; filename*=UTF-8''%2541%252F%2500.png"],
    ['naïve.png', 'filename="na?ve.png"; filename*=UTF-8\'\'na%C3%AFve.png'],
    ['写真 №1.png', 'filename="?? ?1.png"; filename*=UTF-8\'\'%E5%86%99%E7%9C%9F%20%E2%84%961.png'],
    ['👩‍👩‍👧.png', null],
    ['a?b#c&d=e+f;g,h:i@j.png', null],
    ["filename*=UTF-8''x.png", null],
    ['....', null],
    ['%2e%2e', null],
    [' .png ', null],
  ])('saves a file as %j', async (fileName, expected) => {
    const file = await upload(client(), 'bytes', { ...picture, fileName });
    const { status, headers, text: body } = await get(file.url);
    expect([status, body]).toEqual([200, 'bytes']);
    const header = headers.get('content-disposition')!;
    // Characters that a header may contain.
    expect(header).toMatch(/^[ -~]+$/);
    if (expected !== null) expect(header).toBe(`inline; ${expected}`);
    expect(parseDisposition(header)).toEqual({
      type: 'inline',
      parameters: expect.objectContaining({ filename: fileName }),
    });
  });
});

describe('a cache', () => {
  test('gets a different ETag for each file, and the same one each time', async () => {
    expect(etag).toBe(`"${new URL(url).pathname.split('/')[2]}"`);
    expect((await get(url)).headers.get('etag')).toBe(etag);
    const same = await upload(client(), digits);
    expect((await get(same.url)).headers.get('etag')).not.toBe(etag);
  });

  test.each<[string, () => string, string]>([
    ['the ETag', () => etag, '304'],
    ['the ETag as a weak one', () => `W/${etag}`, '304'],
    ['the ETag among others', () => `"other", W/"x" ,${etag}`, '304'],
    ['whatever there is', () => '*', '304'],
    ['another ETag', () => '"other"', '200'],
    ['the ETag without quotes', () => etag.slice(1, -1), '400 request_validation_error'],
    ['a list with a hole in its quotes', () => `${etag}, "x`, '400 request_validation_error'],
    ['nothing', () => '', '400 request_validation_error'],
  ])('that has %s', async (_what, known, expected) => {
    const headers = { 'if-none-match': known() };
    expect(await outcome(url, headers)).toBe(expected);
    expect(await outcome(url, headers, 'HEAD')).toBe(expected.slice(0, 3));
    // A client that has the file has its parts, too.
    if (expected === '304') expect(await outcome(url, { ...headers, range: 'bytes=0-1' })).toBe(expected);
  });

  test('gets with 304 the same headers as with 200', async () => {
    const [first, again] = [await get(url), await get(url, { 'if-none-match': etag })];
    for (const name of [
      'etag',
      'cache-control',
      'content-disposition',
      'content-security-policy',
      'x-content-type-options',
    ]) {
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    }
    expect([again.text, again.headers.has('content-length')]).toEqual(['', false]);
  });

  test('gets 400 for a malformed header, even if there is no file', async () => {
    expect(await outcome(`/files/${newFileName()}/photo.png`, { 'if-none-match': 'x' })).toBe(
      '400 request_validation_error',
    );
    expect(await outcome(`/files/${newFileName()}/photo.png`, { 'if-none-match': '*' })).toBe('404 not_found');
  });

  test.each(['gzip', 'br', 'zstd', 'gzip, deflate, br, zstd, *'])(
    'that accepts %s gets the bytes unchanged',
    async (encoding) => {
      const long = await upload(client(), digits.repeat(1000), { contentType: 'text/plain', fileName: 'digits.txt' });
      for (const file of [url, long.url]) {
        const { headers } = await get(file, { 'accept-encoding': encoding });
        expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, null]);
        expect(headers.get('content-length')).toBe(file === url ? '100' : '100000');
      }
    },
  );
});

test('HEAD returns the headers of GET, without the bytes', async () => {
  const [whole, head] = [await get(url), await get(url, { range: 'bytes=0-1' }, 'HEAD')];
  const ofConnection = new Set(['date', 'connection', 'keep-alive']);
  const told = ({ headers }: Exchange) => Object.fromEntries([...headers].filter(([name]) => !ofConnection.has(name)));
  expect([head.status, head.text, told(head)]).toEqual([200, '', told(whole)]);
  expect([told(head)['content-length'], told(head)['accept-ranges']]).toEqual(['100', 'bytes']);
});

describe('there is no file', () => {
  test('under another name', async () => {
    const { pathname } = new URL(url);
    for (const place of [
      pathname.replace('digits', 'others'),
      pathname.replace('digits', 'Digits'),
      `${pathname}%00`,
      `${pathname}%20`,
    ]) {
      expect([place, await outcome(place)]).toEqual([place, '404 not_found']);
      expect([place, await outcome(place, {}, 'HEAD')]).toEqual([place, '404']);
    }
  });

  test('under what is no name, or the name of none', async () => {
    const { pathname } = new URL(url);
    const name = pathname.split('/')[2]!;
    const last = name.at(-1)!;
    // The last character has four unused bits, so it has several spellings. Only one is valid.
    const spelledOtherwise = name.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1);
    for (const one of [
      newFileName(),
      spelledOtherwise,
      'x',
      `${name}x`,
      name.slice(1),
      `${name}==`,
      `${name}%00`,
      '%F0%9F%93%81',
      '-'.repeat(22),
    ]) {
      const place = `/files/${one}/digits.txt`;
      expect([place, await outcome(place)]).toEqual([place, '404 not_found']);
    }
    expect(await outcome(`${pathname}/`)).toBe('404 not_found');
    expect(await outcome(`/files/${name}`)).toBe('404 not_found');
    expect(await outcome(`/files/${name}/`)).toBe('404 not_found');
  });

  test.each([
    '/files/../../etc/passwd',
    '/files/../data/token',
    '/files/..%2f..%2fetc/passwd',
    '/files/%2e%2e/%2e%2e',
    '/files/..%5c..%5cetc/passwd',
    '/files/%2fetc%2fpasswd/passwd',
    '/files/%00/passwd',
    '/files//etc/passwd',
    '/files/....//passwd',
  ])('there is no file at %s', async (path) => {
    const answer = await exchangeRaw(api().url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, {
      path,
    });
    expect([answer.status, answer.json.error.type]).toEqual([404, 'not_found']);
  });

  test('at a path that is not validly encoded', async () => {
    expect(await outcome(`${new URL(url).pathname}%ff`)).toBe('400 request_validation_error');
  });

  test('after it is removed', async () => {
    const team = await api().createTeam();
    const { id: teamId, client: owner } = team;
    const expected = await recordUpload(operator().log, team, { sizeMax: 1000, lifeMs: 3_600_000, unclaimedLifeMs: 0 });
    const { uploadId } = expected;
    expect(await sendBytes({ location: signUploadUrl(operator().keys, expected, api().url) }, 'bytes')).toBe('200');
    const { url: place } = (await complete(owner, { id: uploadId })).json.data;
    const { headers } = await get(place);
    await recordFact(operator().log, checkUpload(teamId, uploadId));
    await postUpload(owner);
    expect(await outcome(place)).toBe('404 not_found');
    expect(await outcome(place, { 'if-none-match': headers.get('etag')! })).toBe('404 not_found');
    expect(await outcome(place, {}, 'HEAD')).toBe('404');
  });
});

test('a withdrawn file is 404, also for a cache that has it', async () => {
  const file = await upload(client(), 'bytes');
  const tag = (await get(file.url)).headers.get('etag')!;
  expect(await outcome(file.url, { 'if-none-match': tag })).toBe('304');
  expect((await withdraw(client(), file)).status).toBe(200);
  for (const headers of [
    {},
    { 'if-none-match': tag },
    { 'if-none-match': '*' },
    { range: 'bytes=0-1' },
    { 'range': 'bytes=9-', 'if-range': tag },
  ]) {
    expect([headers, await outcome(file.url, headers)]).toEqual([headers, '404 not_found']);
    expect([headers, await outcome(file.url, headers, 'HEAD')]).toEqual([headers, '404']);
  }
});

test('files of a suspended team are 402, also for a cache that has them', async () => {
  const team = await api().createTeam();
  const file = await uploadDigits(team.client);
  await team.suspend();
  for (const headers of [
    {},
    { 'if-none-match': file.etag },
    { range: 'bytes=0-1' },
    { range: 'bytes=100-' },
    { 'if-none-match': '*' },
  ]) {
    expect([headers, await outcome(file.url, headers)]).toEqual([headers, '402 payment_required']);
    expect([headers, await outcome(file.url, headers, 'HEAD')]).toEqual([headers, '402']);
  }
  // A client that does not know the whole URL learns nothing.
  expect(await outcome(file.url.replace('digits', 'others'))).toBe('404 not_found');
  expect(await outcome(url)).toBe('200');
  await team.resume();
  expect(await outcome(file.url, { 'if-none-match': file.etag })).toBe('304');
  expect(await outcome(file.url)).toBe('200');
});

test('while the store cannot be reached, a file is 503, and caches do not keep that answer', async () => {
  const { filesFolder } = api();
  await rename(filesFolder, `${filesFolder}-away`);
  try {
    expect(await outcome(url)).toBe('503 service_unavailable');
    expect(await outcome(url, { range: 'bytes=1-2' })).toBe('503 service_unavailable');
    expect(await outcome(url, { 'if-none-match': etag })).toBe('304');
  } finally {
    await rename(`${filesFolder}-away`, filesFolder);
  }
  expect(await outcome(url)).toBe('200');
});

test('other methods are 405, and a query is refused', async () => {
  for (const method of ['PUT', 'POST', 'PATCH', 'DELETE'])
    expect(await outcome(url, {}, method)).toBe('405 method_not_allowed');
  const { pathname } = new URL(url);
  expect((await fetchChecked(api().url, `${pathname}?x=1`)).status).toBe(400);
});
