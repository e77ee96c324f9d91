import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { chooseEncoding } from '../../../../../src/api/http/answers/compression.ts';
import { readIdempotencyKey } from '../../../../../src/api/http/submit/request-identity.ts';
import {
  readIfMatch,
  readIfNoneMatch,
  replyNotModified,
  setVersion,
} from '../../../../../src/api/http/requests/versions.ts';
import { authorization, buildEdge, validationErrorAt } from './edge-app.ts';

const long = JSON.stringify({ data: Array.from({ length: 500 }, (_, row) => ({ row, name: 'é' })) });

function addRoutes(app: App): void {
  app.get('/if-match', (request) => ({ data: String(readIfMatch(request)) }));
  app.get('/key', (request) => ({ data: readIdempotencyKey(request) ?? null }));
  app.route({
    method: ['GET', 'HEAD'],
    url: '/versioned',
    handler: (request, reply) => {
      if (readIfNoneMatch(request)(42n)) return replyNotModified(reply, 42n);
      return setVersion(reply, 42n).send({ data: 1 });
    },
  });
  app.get('/long', (_request, reply) => setVersion(reply, 42n).type('application/json; charset=utf-8').send(long));
  app.get('/plain', (_request, reply) => reply.type('application/json; charset=utf-8').send(long));
  app.get('/short', () => ({ data: 'short' }));
}

function get(url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') {
  return buildEdge(addRoutes).app.inject({ method, url, headers: { authorization, ...headers } });
}

describe('If-Match', () => {
  test.each([
    ['"0"', '0'],
    ['"42"', '42'],
    ['W/"42"', '42'],
    ['"0042"', '42'],
    ['"9223372036854775807"', '9223372036854775807'],
    ['"9223372036854775808"', '9223372036854775807'],
    [`"${'9'.repeat(300)}"`, '9223372036854775807'],
  ])('If-Match: %s is read as %s', async (tag, version) => {
    expect((await get('/if-match', { 'if-match': tag })).json()).toEqual({ data: version });
  });

  test('may be absent', async () => {
    expect((await get('/if-match')).json()).toEqual({ data: 'undefined' });
  });

  const malformed = ['*', '42', '""', '"x"', '"-1"', '"1", "2"', 'w/"1"', '"1', '"1.0"', '"1" "1"', ''];
  test.each(malformed)('"%s" is refused', async (tag) => {
    const response = await get('/if-match', { 'if-match': tag });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(validationErrorAt('If-Match'));
  });
});

describe('If-None-Match', () => {
  const vary = 'Accept-Encoding, Authorization';
  const cacheHeaders = { 'etag': '"42"', 'cache-control': 'private, no-cache', vary };

  test.each(['"42"', 'W/"42"', '*', '"1", "42"', '"1","x" , W/"42"'])('%s contains the version', async (tags) => {
    for (const method of ['GET', 'HEAD'] as const) {
      const response = await get('/versioned', { 'if-none-match': tags }, method);
      expect([response.statusCode, response.body]).toEqual([304, '']);
      expect(response.headers).toMatchObject(cacheHeaders);
    }
  });

  test.each(['"41"', '"042"', '"42-gzip"', '"x"', '""'])('%s does not contain the version', async (tags) => {
    const response = await get('/versioned', { 'if-none-match': tags });
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject(cacheHeaders);
  });

  test.each(['42', '"42', '* , "1"', '', '"1" "2"'])('"%s" is refused', async (tags) => {
    const response = await get('/versioned', { 'if-none-match': tags });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(validationErrorAt('If-None-Match'));
  });
});

describe('Idempotency-Key', () => {
  test.each(['a', 'a b', '"q"', '~'.repeat(256), '018f-7'])('%s is a key', async (key) => {
    expect((await get('/key', { 'idempotency-key': key })).json()).toEqual({ data: key });
  });

  test.each(['', 'x'.repeat(257), 'é', 'a\tb'])('"%s" is refused', async (key) => {
    const response = await get('/key', { 'idempotency-key': key });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(validationErrorAt('Idempotency-Key'));
  });

  test('may be absent', async () => {
    expect((await get('/key')).json()).toEqual({ data: null });
  });
});

describe('compression', () => {
  test.each([
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
    ['zstd', zstdDecompressSync],
  ] as const)('%s, as the client asks', async (encoding, decompress) => {
    const response = await get('/long', { 'accept-encoding': encoding });
    expect(response.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(response.rawPayload.length),
      'etag': '"42"',
      'vary': 'Accept-Encoding, Authorization',
    });
    expect(decompress(response.rawPayload).toString()).toBe(long);
  });

  test('is not used for short answers, or for clients that do not accept it', async () => {
    const short = await get('/short', { 'accept-encoding': 'gzip' });
    expect([short.headers['content-encoding'], short.headers.vary]).toEqual([undefined, undefined]);
    const plain = await get('/plain');
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    expect(plain.body).toBe(long);
  });

  test.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate', null],
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['GZIP ; Q=0.5', 'gzip'],
    ['gzip;q=0', null],
    ['gzip;q=x', null],
    ['*', 'zstd'],
    ['*;q=0.1, zstd;q=0', 'br'],
    ['br;q=0, *', 'zstd'],
  ])('a client that accepts %j is answered in %j', (header, encoding) => {
    expect(chooseEncoding(header)).toBe(encoding);
  });
});
