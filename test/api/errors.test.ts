/**
 * Spec 5 and 7, decisions 1. The client of the tests checks the exact shape of every answer; this file tests the rest.
 */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { fetchChecked } from '../support/interface-document.ts';
import { exchangeRaw } from '../support/raw-http.ts';
import { createTable, leavingUnchanged, unknownRowId, unknownTableId } from '../support/tables.ts';

const { api, client } = useApi();
const malformed = '400 request_validation_error';
const table = `/tables/${unknownTableId}`;
const row = `${table}/rows/${unknownRowId}`;

test.each<[string, string, string, string[]]>([
  ['GET', '/nothing', '404 not_found', []],
  ['POST', '/nothing', '404 not_found', []],
  ['OPTIONS', '/nothing', '404 not_found', []],
  ['GET', '/Tables', '404 not_found', []],
  ['GET', '//tables', '404 not_found', []],
  ['GET', `${row}/cells`, '404 not_found', []],
  ['GET', '/tables/a/b/c/d', '404 not_found', []],
  ['DELETE', '/tables', '405 method_not_allowed', ['GET', 'POST']],
  ['PUT', '/tables', '405 method_not_allowed', ['GET', 'POST']],
  ['PATCH', '/tables', '405 method_not_allowed', ['GET', 'POST']],
  ['OPTIONS', '/tables', '405 method_not_allowed', ['GET', 'POST']],
  ['POST', table, '405 method_not_allowed', ['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT']],
  ['PUT', `${table}/rows`, '405 method_not_allowed', ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']],
  ['OPTIONS', `${table}/rows`, '405 method_not_allowed', ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']],
  ['PUT', row, '405 method_not_allowed', ['DELETE', 'GET', 'PATCH']],
  ['POST', row, '405 method_not_allowed', ['DELETE', 'GET', 'PATCH']],
  ['OPTIONS', row, '405 method_not_allowed', ['DELETE', 'GET', 'PATCH']],
  ['PROPFIND', row, '405 method_not_allowed', ['DELETE', 'GET', 'PATCH']],
  ['POST', '/tables/', '405 method_not_allowed', ['DELETE', 'GET', 'HEAD', 'PATCH', 'PUT']],
  ['PUT', '/tables//rows', '405 method_not_allowed', ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']],
])('%s %s is answered with %s', async (method, path, outcome, allowed) => {
  for (const token of [client().token, 'wrong']) {
    const answer = await new Client(api().url, token).send(path, { method });
    expect(outcomeOf(answer)).toBe(outcome);
    const allow = answer.headers.get('allow');
    expect(allow === null ? [] : allow.split(/, */).toSorted()).toEqual(allowed);
  }
});

// The router serves GET and POST at these targets; no client library sends them as they are.
test.each(['/%74ables', '/tables#x', 'http://other.example/tables'])('PUT %s is 405', async (target) => {
  const answer = await exchangeRaw(api().url, `PUT ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, {
    method: 'PUT',
  });
  expect([outcomeOf(answer), answer.headers.get('allow')]).toEqual(['405 method_not_allowed', 'GET, POST']);
});

test.each(['/tables', row])('HEAD %s is 405 without a body', async (path) => {
  const answer = await client().head(path);
  expect([answer.status, answer.text]).toEqual([405, '']);
});

describe('the token', () => {
  const endpoints: [string, string][] = [
    ['GET', '/tables'],
    ['POST', '/tables'],
    ['GET', `${table}/rows`],
    ['POST', `${table}/rows`],
    ['GET', row],
    ['PATCH', row],
    ['DELETE', row],
    ['GET', table],
    ['PUT', table],
    ['PATCH', table],
    ['DELETE', table],
    ['GET', '/jobs/x'],
    ['GET', '/jobs/x/progress'],
  ];
  const headers: ((token: string) => string | null)[] = [
    () => null,
    () => '',
    () => 'Bearer',
    () => 'Bearer ',
    () => 'Bearer wrong',
    (token) => token,
    (token) => `Basic ${token}`,
    (token) => `Bearer ${token} x`,
    (token) => `Bearer ${token}, Bearer ${token}`,
    (token) => `Bearer ${token.slice(0, -1)}`,
    (token) => `Bearer ${token}a`,
    (token) => `Bearer ${token.toUpperCase()}`,
    (token) => `Bearer "${token}"`,
    () => `Bearer ${'a'.repeat(5_000)}`,
  ];

  test.each(endpoints)(
    '%s %s has one answer for every wrong token, and another one for a missing token',
    async (method, path) => {
      const texts = new Set<string>();
      for (const header of headers) {
        const value = header(client().token);
        const { status, text } = await fetchChecked(api().url, path, {
          method,
          headers: value === null ? {} : { authorization: value },
          ...(method.startsWith('P') ? { body: 'broken' } : {}),
        });
        expect(status).toBe(404);
        texts.add(text);
      }
      expect([...texts].map((text) => JSON.parse(text))).toEqual([
        { error: { type: 'request_error', message: expect.stringContaining('no bearer token') } },
        { error: { type: 'request_error', message: expect.stringContaining('incorrect') } },
      ]);
    },
  );

  test('two headers count as a wrong token, in any order and case', async () => {
    const { token } = client();
    const wrong = await exchangeRaw(
      api().url,
      'GET /tables HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer wrong\r\n\r\n',
    );
    for (const [first, second] of [
      [token, token],
      [token, 'wrong'],
      ['wrong', token],
    ]) {
      const answer = await exchangeRaw(
        api().url,
        `GET /tables HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${first}\r\nAUTHORIZATION: Bearer ${second}\r\n\r\n`,
      );
      expect([outcomeOf(answer), answer.text]).toEqual(['404 request_error', wrong.text]);
    }
  });

  test('the scheme may have any case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
      const answer = await client().get('/tables', { authorization: `${scheme} ${client().token}` });
      expect(answer.status).toBe(200);
    }
  });

  test('HEAD without it is 404 without a body', async () => {
    const answer = await new Client(api().url, 'wrong').head(`${table}/rows`);
    expect([answer.status, answer.text]).toEqual([404, '']);
  });
});

describe('a Content-Type', () => {
  const types: [string | null, boolean][] = [
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['application/json;charset=UTF-8', true],
    ['application/json; charset="utf-8"', true],
    ['Application/JSON', true],
    [null, false],
    ['text/plain', false],
    ['text/plain;charset=UTF-8', false],
    ['application/xml', false],
    ['application/json-patch+json', false],
    ['application/vnd.api+json', false],
    ['application/x-www-form-urlencoded', false],
    ['multipart/form-data; boundary=x', false],
    ['application/json; charset=latin1', false],
    ['application/json; charset=utf-16', false],
    ['json', false],
    ['*/*', false],
  ];

  test.each(types)('%s: accepted is %s', async (type, accepted) => {
    const made = await createTable(client(), [{ a: 1 }]);
    const requests: [string, string, unknown, string][] = [
      ['POST', '/tables?name=n', [{ a: 1 }], '201'],
      ['POST', made.path, [{ a: 1 }], '201'],
      ['PATCH', `${made.path}/${made.rowIds[0]}`, { a: 1 }, '200'],
    ];
    for (const [method, path, body, outcome] of requests) {
      const send = (): Promise<string> =>
        client()
          .send(path, {
            method,
            body: Buffer.from(JSON.stringify(body)),
            headers: type === null ? {} : { 'content-type': type },
            ...(type === null ? { bare: true } : {}),
          })
          .then(outcomeOf);
      if (accepted) expect(await send()).toBe(outcome);
      else await leavingUnchanged(client(), made.path, async () => expect(await send()).toBe(malformed));
    }
  });

  test('on a request without a body is no error', async () => {
    const made = await createTable(client(), [{ a: 1 }]);
    const headers = { 'content-type': 'application/json' };
    for (const path of ['/tables', made.path, `${made.path}/${made.rowIds[0]}`]) {
      expect((await client().get(path, headers)).status).toBe(200);
    }
    expect((await client().head(made.path, headers)).status).toBe(200);
  });
});

describe('malformed HTTP', () => {
  const authorized = (token: string): string => `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`;
  const json = 'Content-Type: application/json\r\n';

  test.each<[string, (token: string) => string, string, boolean]>([
    ['no HTTP', () => 'hello\r\n\r\n', malformed, false],
    ['an unknown version', () => 'GET /tables HTTP/9.9\r\n\r\n', malformed, false],
    [
      'no host',
      (token) => `GET /tables HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'a header without a colon',
      (token) => `GET /tables HTTP/1.1\r\n${authorized(token)}broken\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'a blank before the colon',
      (token) => `GET /tables HTTP/1.1\r\n${authorized(token)}A : b\r\n\r\n`,
      malformed,
      false,
    ],
    ['U+0000 in a header', (token) => `GET /tables HTTP/1.1\r\n${authorized(token)}A: \0\r\n\r\n`, malformed, false],
    [
      'a broken length',
      (token) => `POST /tables HTTP/1.1\r\n${authorized(token)}Content-Length: x\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'a negative length',
      (token) => `POST /tables HTTP/1.1\r\n${authorized(token)}Content-Length: -1\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'two lengths',
      (token) => `POST /tables HTTP/1.1\r\n${authorized(token)}Content-Length: 1\r\nContent-Length: 2\r\n\r\n[]`,
      malformed,
      false,
    ],
    [
      'a length and chunks',
      (token) =>
        `POST /tables?name=n HTTP/1.1\r\n${authorized(token)}${json}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'a broken chunk',
      (token) =>
        `POST /tables?name=n HTTP/1.1\r\n${authorized(token)}${json}Transfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'headers of 100 KB',
      (token) => `GET /tables HTTP/1.1\r\n${authorized(token)}A: ${'x'.repeat(100_000)}\r\n\r\n`,
      malformed,
      false,
    ],
    [
      'a path that is not percent-encoded',
      (token) => `GET /tables/%zz/rows HTTP/1.1\r\n${authorized(token)}\r\n`,
      malformed,
      false,
    ],
    [
      'a path that is no UTF-8',
      (token) => `GET /tables/%ff/rows HTTP/1.1\r\n${authorized(token)}\r\n`,
      malformed,
      false,
    ],
    [
      'a body cut short',
      (token) => `POST /tables?name=n HTTP/1.1\r\n${authorized(token)}${json}Content-Length: 50\r\n\r\n[{"a":1}]`,
      malformed,
      true,
    ],
    [
      'a chunked body cut short',
      (token) =>
        `POST /tables?name=n HTTP/1.1\r\n${authorized(token)}${json}Transfer-Encoding: chunked\r\n\r\n9\r\n[{"a":1}]\r\n`,
      malformed,
      true,
    ],
    ['a head cut short', (token) => `GET /tables HTTP/1.1\r\n${authorized(token)}`, malformed, true],
  ])('malformed HTTP is answered as every error is: %s', async (_, bytes, outcome, end) => {
    const before = (await client().get('/tables')).text;
    const answer = await exchangeRaw(api().url, bytes(client().token), { end });
    expect(outcomeOf(answer)).toBe(outcome);
    expect((await client().get('/tables')).text).toBe(before);
  });

  test('HTTP that is only just well-formed is answered', async () => {
    const answer = await exchangeRaw(
      api().url,
      `POST /tables?name=n HTTP/1.1\r\n${authorized(client().token)}${json}Transfer-Encoding: chunked\r\n\r\n5\r\n[{"a"\r\n4\r\n:1}]\r\n0\r\n\r\n`,
      { method: 'POST', path: '/tables' },
    );
    expect(outcomeOf(answer)).toBe('201');
  });
});

describe('answers are compressed for clients that ask', () => {
  test.each(['gzip', 'br', 'zstd', 'identity', 'gzip;q=0', 'compress'])(
    'an answer is compressed for Accept-Encoding: %s',
    async (encoding) => {
      const made = await createTable(
        client(),
        Array.from({ length: 200 }, (_, n) => ({ n })),
      );
      const plain = await client().get(made.path, { 'accept-encoding': 'identity' });
      const answer = await client().get(made.path, { 'accept-encoding': encoding });
      expect(answer.headers.get('content-encoding')).toBe(/^(gzip|br|zstd)$/.test(encoding) ? encoding : null);
      expect([answer.status, answer.version]).toEqual([200, made.version]);
      if (encoding !== 'zstd') expect(answer.text).toBe(plain.text);
    },
  );
});
