import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { fc, uncut } from '../../../../support/property.ts';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { readMediaType } from '../../../../../src/api/http/bodies/media-type.ts';
import { bodyChunks, collectBody } from '../../../../../src/api/http/bodies/request-body.ts';
import {
  authorization,
  buildEdge,
  edgeConfig,
  errorPattern,
  listen,
  RawClient,
  validationErrorAt,
  requestText,
} from '../server/edge-app.ts';

const limit = 200_000;
const compressors = {
  'gzip': gzipSync,
  'x-gzip': gzipSync,
  'br': (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  'zstd': zstdCompressSync,
};
type Encoding = keyof typeof compressors;
const encodings = Object.keys(compressors) as Encoding[];

/** `/whole` and `/pieces` answer with the body they read, both ways; `/unread` does not look at it. */
function addRoutes(app: App): void {
  app.put('/whole', async (request, reply) => {
    const body = await collectBody(request, limit);
    return reply.type('application/octet-stream').send(body);
  });
  app.put('/pieces', async (request, reply) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of bodyChunks(request, limit)) pieces.push(piece);
    return reply.type('application/octet-stream').send(Buffer.concat(pieces));
  });
  app.route({ method: ['GET', 'DELETE', 'POST'], url: '/unread', handler: () => ({}) });
  app.put('/first', async (request) => {
    for await (const piece of bodyChunks(request, limit)) return { data: piece.length };
    return {};
  });
  app.put('/media', (request) => ({ data: readMediaType(request, ['application/json', 'text/csv']) }));
}

const ways = ['/whole', '/pieces'];

function put(url: string, payload: string | Buffer | Readable, headers: Record<string, string> = {}) {
  return buildEdge(addRoutes).app.inject({ method: 'PUT', url, payload, headers: { authorization, ...headers } });
}

const rows = Array.from({ length: 3_000 }, (_, row) => ({ row, text: `value ${(row * 7_919) % 1_000}` }));
const sample = Buffer.from(JSON.stringify(rows));

describe.each(ways)('%s', (url) => {
  test('yields the bytes as they were sent', async () => {
    const { app } = buildEdge(addRoutes);
    const bodies = fc.array(fc.uint8Array({ minLength: 1, maxLength: 5_000 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(bodies, async (pieces) => {
        const payload = Readable.from(pieces);
        const response = await app.inject({ method: 'PUT', url, payload, headers: { authorization } });
        expect(response.rawPayload.equals(Buffer.concat(pieces))).toBe(true);
      }),
      { ...uncut, numRuns: 50 },
    );
  });

  test('an empty body is no error', async () => {
    expect((await put(url, '', { 'content-type': 'application/json' })).rawPayload).toHaveLength(0);
  });

  test.each(encodings)('a body in %s is decompressed', async (encoding) => {
    const response = await put(url, compressors[encoding](sample), { 'content-encoding': encoding });
    expect(response.rawPayload.equals(sample)).toBe(true);
  });

  test.each(['identity', ' GZIP '])('a body in the encoding "%s" is accepted', async (encoding) => {
    const payload = encoding === 'identity' ? sample : gzipSync(sample);
    expect((await put(url, payload, { 'content-encoding': encoding })).rawPayload.equals(sample)).toBe(true);
  });

  test.each(['deflate', 'gzip, br', 'gzip, gzip', 'toString'])('refuses the encoding %s', async (encoding) => {
    const response = await put(url, sample, { 'content-encoding': encoding });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(validationErrorAt('Content-Encoding'));
  });

  test.each(encodings)('%s that is truncated, garbled, followed by more, or missing is refused', async (encoding) => {
    const whole = compressors[encoding](sample);
    const followed = Buffer.concat([whole, Buffer.from('more')]);
    const garbled = Buffer.from('no such thing at all');
    const bad = [whole.subarray(0, -20), whole.subarray(0, 20), garbled, Buffer.alloc(0), followed];
    for (const payload of bad) {
      const response = await put(url, payload, { 'content-encoding': encoding });
      expect(response.statusCode).toBe(400);
      expect(response.json()).toEqual(validationErrorAt('Content-Encoding'));
    }
  });

  test.each(encodings)('%s of two frames is read completely or refused', async (encoding) => {
    const one = compressors[encoding](sample);
    const response = await put(url, Buffer.concat([one, one]), { 'content-encoding': encoding });
    if (response.statusCode === 200) expect(response.rawPayload.equals(Buffer.concat([sample, sample]))).toBe(true);
    else expect(response.statusCode).toBe(400);
  });

  test.each(encodings)('a decompression bomb of %s is too large', async (encoding) => {
    const response = await put(url, compressors[encoding](Buffer.alloc(20_000_000)), { 'content-encoding': encoding });
    expect([response.statusCode, response.json().error.type]).toEqual([413, 'payload_too_large']);
  });

  test('the limit is exact', async () => {
    expect((await put(url, Buffer.alloc(limit))).statusCode).toBe(200);
    expect((await put(url, Buffer.alloc(limit + 1))).statusCode).toBe(413);
    expect((await put(url, Readable.from([Buffer.alloc(limit)]))).statusCode).toBe(200);
    expect((await put(url, Readable.from([Buffer.alloc(limit), Buffer.alloc(1)]))).statusCode).toBe(413);
    expect((await put(url, gzipSync(Buffer.alloc(limit)), { 'content-encoding': 'gzip' })).statusCode).toBe(200);
    expect((await put(url, gzipSync(Buffer.alloc(limit + 1)), { 'content-encoding': 'gzip' })).statusCode).toBe(413);
  });

  test('over a socket: chunked bodies, one after the other on a connection', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.send(requestText(`PUT ${url}`, ['Transfer-Encoding: chunked'], '3\r\nabc\r\n'));
    client.send('2\r\nde\r\n0\r\n\r\n');
    await client.see(/\r\n\r\nabcde$/);
    client.send(requestText(`PUT ${url}`, ['Content-Length: 4'], 'wxyz'));
    await client.see(/\r\n\r\nwxyz$/);
  });

  test('over a socket: a Content-Length over the limit is refused before the body arrives', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.send(requestText(`PUT ${url}`, [`Content-Length: ${limit + 1}`]));
    await client.see(errorPattern(413, 'payload_too_large'));
  });

  test('over a socket: chunks over the limit are refused while more is to come, and the connection ends', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.send(requestText(`PUT ${url}`, ['Transfer-Encoding: chunked']));
    const chunk = `${(50_000).toString(16)}\r\n${'x'.repeat(50_000)}\r\n`;
    for (let count = 0; count < 20; count += 1) client.send(chunk);
    await client.see(errorPattern(413, 'payload_too_large'));
    await client.ended();
  });

  test('over a socket: the client gets 100 before it sends, or a refusal without it', async () => {
    const port = await listen(buildEdge(addRoutes).app);
    const client = await RawClient.open(port);
    client.send(requestText(`PUT ${url}`, ['Content-Length: 5', 'Expect: 100-continue']));
    await client.see(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.send('hello');
    await client.see(/HTTP\/1\.1 200 OK\r\n[^]*Connection: keep-alive\r\n[^]*\r\n\r\nhello$/);

    const refused = await RawClient.open(port);
    refused.send(requestText(`PUT ${url}`, [`Content-Length: ${limit + 1}`, 'Expect: 100-continue']));
    expect(await refused.ended()).toMatch(errorPattern(413, 'payload_too_large'));
    expect(refused.received).toMatch(/\r\nConnection: close\r\n/i);
  });

  test('over a socket: 100 is sent between the answers to pipelined requests, or not at all', async () => {
    const port = await listen(
      buildEdge((app) => {
        addRoutes(app);
        // By then the next request has come.
        app.put('/late', async (request, reply) => {
          const body = await collectBody(request, limit);
          await sleep(100);
          return reply.type('application/octet-stream').send(body);
        });
      }).app,
    );
    const first = requestText('PUT /late', ['Content-Length: 5'], 'first');
    const second = requestText(`PUT ${url}`, ['Content-Length: 6', 'Expect: 100-continue']);
    const patient = await RawClient.open(port);
    patient.send(first + second);
    await patient.see(/\r\n\r\nfirstHTTP\/1\.1 100 Continue\r\n\r\n$/);
    patient.send('second');
    await patient.see(/100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n([^\r]+\r\n)+\r\nsecond$/);

    const hasty = await RawClient.open(port);
    hasty.send(`${first}${second}second`);
    await hasty.see(/second$/);
    expect(hasty.received).toMatch(
      /\r\n\r\nfirst(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 200 OK\r\n([^\r]+\r\n)+\r\nsecond$/,
    );
  });

  test.each([
    [url, 400],
    ['/nothing', 404],
  ])(
    'over a socket: after a refused body to %s whose rest comes later, the connection stays usable',
    async (refusing, status) => {
      const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
      client.send(requestText(`PUT ${refusing}`, ['Content-Length: 19', 'Content-Encoding: gzip'], 'no gzip'));
      await client.see(errorPattern(status, status === 400 ? 'request_validation_error' : 'not_found'));
      client.send(' at all, no.' + requestText(`PUT ${url}`, ['Content-Length: 5'], 'hello'));
      await client.see(/hello$/);
      // Longer than the service waits for the rest.
      await sleep(1500);
      client.send(requestText(`PUT ${url}`, ['Content-Length: 5'], 'again'));
      await client.see(/again$/);
    },
  );

  test('over a socket: a body that its client cuts short is answered', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.send(requestText(`PUT ${url}`, ['Content-Length: 10'], 'abc'));
    client.socket.end();
    expect(await client.ended()).toMatch(errorPattern(400, 'request_validation_error'));
  });

  test('over a socket: a malformed chunk is answered', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.send(requestText(`PUT ${url}`, ['Transfer-Encoding: chunked'], '3\r\nabc\r\nzz\r\n'));
    expect(await client.ended()).toMatch(errorPattern(400, 'request_validation_error'));
  });

  test('over a socket: a client that disconnects in the middle leaves only a line at debug', async () => {
    let failed: (() => void) | undefined;
    const failure = new Promise<void>((resolve) => {
      failed = resolve;
    });
    const { app, lines } = buildEdge((inner) => {
      inner.addHook('onError', (_request, _reply, _error, done) => {
        done();
        setImmediate(failed!);
      });
      addRoutes(inner);
    });
    const client = await RawClient.open(await listen(app));
    client.send(requestText(`PUT ${url}`, ['Content-Length: 10', 'Expect: 100-continue']));
    await client.see(/100 Continue/);
    client.send('abc');
    client.socket.resetAndDestroy();
    await failure;
    expect(lines.filter((line) => line.level !== 30).map((line) => [line.level, line.msg])).toEqual([
      [20, 'The client went away before its body was complete.'],
    ]);
  });
});

test('pieces arrive with backpressure: bytes that nobody reads stay with the client', async () => {
  let read = 0;
  const { app } = buildEdge((inner) => {
    inner.put('/slow', async (request) => {
      for await (const piece of bodyChunks(request, 100_000_000)) {
        read += piece.length;
        await once();
      }
      return { data: read };
    });
  });
  const gates: (() => void)[] = [];
  const once = () =>
    new Promise<void>((resolve) => {
      gates.push(resolve);
    });
  const client = await RawClient.open(await listen(app));
  const size = 40_000_000;
  client.send(requestText('PUT /slow', [`Content-Length: ${size}`]));
  client.send(Buffer.alloc(size));
  while (gates.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
  expect(client.socket.writableLength).toBeGreaterThan(size / 4);
  while (!client.received.includes('\r\n\r\n')) {
    gates.splice(0).forEach((open) => open());
    await new Promise(setImmediate);
  }
  expect(client.received).toMatch(/\{"data":40000000\}$/);
});

test('a reader that stops in the middle leaves the connection usable', async () => {
  const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
  client.send(requestText('PUT /first', ['Transfer-Encoding: chunked'], '3\r\nabc\r\n'));
  await client.see(/\{"data":3\}$/);
  client.send(`${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n0\r\n\r\n`);
  client.send(requestText('GET /unread'));
  await client.see(/\{"data":3\}HTTP\/1\.1 200 [^]*\{\}$/);
});

test.each(['GET', 'DELETE', 'POST'])('an unexpected body on %s is no error', async (method) => {
  const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
  const headers = ['Content-Type: application/json', 'Content-Length: 5'];
  client.send(requestText(`${method} /unread`, headers, '{"a":'));
  client.send(requestText(`${method} /unread`, ['Content-Type: application/json']));
  client.send(requestText(`${method} /unread`, ['Content-Type: ;;;', 'Content-Length: 0', 'Connection: close']));
  expect((await client.ended()).match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
});

test('a refused request leaves the connection usable once its body has arrived', async () => {
  const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
  client.send(requestText('PUT /nothing', ['Content-Length: 5'], 'abcde'));
  client.send(requestText('PUT /whole', ['Content-Length: 5', 'Connection: close'], 'vwxyz'));
  expect(await client.ended()).toMatch(/404 Not Found[^]*"not_found"[^]*200 OK[^]*vwxyz$/);
});

describe('a request that follows an answer with `Connection: close` is not handled', () => {
  /** What `/write` received. The service says of itself that the answers of the other routes are the last. */
  function buildWrites(): { readonly app: App; readonly written: string[] } {
    const written: string[] = [];
    const { app } = buildEdge((inner) => {
      inner.put('/write', async (request) => {
        written.push(String(await collectBody(request, limit)));
        return {};
      });
      inner.put('/last', async (request, reply) => {
        void reply.header('connection', 'close');
        await collectBody(request, limit);
        return {};
      });
      inner.put('/last-unread', (_request, reply) => reply.header('connection', 'close').send({}));
    });
    return { app, written };
  }

  const write = requestText('PUT /write', ['Content-Length: 6'], 'behind');

  test.each([
    { what: 'a refused body', line: 'PUT /last', length: limit + 1, expectation: [] },
    { what: 'a body that was not read', line: 'PUT /last-unread', length: 9, expectation: [] },
    { what: 'a body that was read', line: 'PUT /last', length: 9, expectation: [] },
    { what: 'an unknown expectation', line: 'PUT /write', length: 0, expectation: ['Expect: luck'] },
  ])('a write after $what has no effect', async ({ what, line, length, expectation }) => {
    const { app, written } = buildWrites();
    const client = await RawClient.open(await listen(app));
    const first = requestText(line, [`Content-Length: ${length}`, ...expectation]);
    const isAnsweredEarly = /refused|not read/.test(what);
    if (isAnsweredEarly) {
      client.send(first + 'x'.repeat(length - 5));
      await client.see(/\r\n\r\n\{.*\}$/);
    }
    // The next request is in one packet with the end of the body.
    client.send((isAnsweredEarly ? 'xxxxx' : first + 'x'.repeat(length)) + write);
    const received = await client.ended();
    expect(received).toMatch(/^HTTP\/1\.1 [^]*\r\nconnection: close\r\n/i);
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(written).toEqual([]);
  });
});

test('the rest of a body is read within bounds even if nothing was refused', async () => {
  // Only what is left of a body has an end so soon.
  const config = { ...edgeConfig, REQUEST_IDLE_TIMEOUT_MS: 3_600_000 };
  const client = await RawClient.open(await listen(buildEdge(addRoutes, { config }).app));
  client.send(requestText('PUT /first', ['Content-Length: 1000'], 'abc'));
  await client.see(/\{"data":3\}$/);
  await client.ended();
});

describe('a client that reads only after it has sent a too large body receives the answer', () => {
  const answered = /^HTTP\/1\.1 413 [^]*"payload_too_large"[^]*\}$/;

  test.each<{ readonly headers: readonly string[] }>([{ headers: [] }, { headers: ['Connection: close'] }])(
    'at once, with $headers',
    async ({ headers }) => {
      const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
      client.socket.pause();
      const size = 60_000_000;
      client.send(requestText('PUT /whole', [`Content-Length: ${size}`, ...headers]));
      const failure = await new Promise((resolve) => {
        client.socket.once('error', resolve).write(Buffer.alloc(size), resolve);
      });
      expect(failure ?? null).toBeNull();
      client.socket.resume();
      await client.see(answered);
      if (headers.length === 0) {
        client.send(requestText('GET /unread'));
        await client.see(/413 [^]*\}HTTP\/1\.1 200 OK/);
      } else await client.ended();
    },
  );

  test('a client that reads slowly receives the answer', async () => {
    const client = await RawClient.open(await listen(buildEdge(addRoutes).app));
    client.socket.pause();
    client.send(requestText('PUT /whole', ['Content-Length: 5000000', 'Connection: close']));
    for (let piece = 0; piece < 5; piece += 1) {
      await sleep(400);
      const failure = await new Promise((resolve) => {
        client.socket.once('error', resolve).write(Buffer.alloc(1_000_000), resolve);
      });
      expect(failure ?? null).toBeNull();
    }
    client.socket.resume();
    expect(await client.ended()).toMatch(answered);
  });
});

describe('the media type', () => {
  test.each([
    ['application/json', 'application/json'],
    ['application/json; charset=utf-8', 'application/json'],
    ['Application/JSON;Charset="UTF-8"', 'application/json'],
    ['application/json; charset=utf8', 'application/json'],
    ['text/csv; header=present', 'text/csv'],
  ])('%s is accepted', async (type, expected) => {
    expect((await put('/media', '[]', { 'content-type': type })).json()).toEqual({ data: expected });
  });

  test.each([
    'text/plain',
    'application/json; charset=latin1',
    'application/ld+json',
    'json',
    '',
    ';;',
    'application/jsonx',
    'text/tab-separated-values',
    'application/x-www-form-urlencoded',
  ])('"%s" is refused', async (type) => {
    const response = await put('/media', '[]', { 'content-type': type });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(validationErrorAt('Content-Type'));
  });

  test('is required', async () => {
    expect((await put('/media', '[]')).json().error.message).toMatch(/^Content-Type: is missing/);
  });
});
