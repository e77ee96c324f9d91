/** What the client, and the command line that uses it, make of answers, and of none. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Tablog, Unreachable } from '../../../../clients/typescript/src/index.ts';
import { findTable } from '../../../../src/cli/client/find-table.ts';
import { describeServerError } from '../../../../src/cli/client/server-error.ts';

type Answer = (response: ServerResponse) => void;

let server: Server;
/** What the next requests are answered; the last of them again and again. */
let answers: Answer[];
let asked: number;
let paths: string[];
let retries: string[];
let client: Tablog;
let stopping: AbortController;

beforeEach(async () => {
  asked = 0;
  paths = [];
  retries = [];
  server = createServer((request, response) => {
    request.resume();
    answers[Math.min(asked, answers.length - 1)]!(response);
    asked += 1;
    paths.push(request.url!);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stopping = new AbortController();
  client = clientOf((server.address() as AddressInfo).port);
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function clientOf(port: number): Tablog {
  return new Tablog({
    url: `http://127.0.0.1:${port}`,
    token: 't',
    signal: stopping.signal,
    limitWaitMs: Infinity,
    onRetry: (reason) => void retries.push(describeServerError(reason)),
  });
}

const json =
  (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
const refusal = (status: number, type: string, headers: Readonly<Record<string, string>> = {}): Answer =>
  json(status, { error: { type, message: 'said' } }, headers);
const good = json(200, { data: 7 });
const broken: Answer = (response) => void response.destroy();
const half: Answer = (response) => {
  response.writeHead(200, { 'content-length': '20' }).write('{"data"', () => response.destroy());
};

const get = async (): Promise<unknown> => (await client.operations.GET('/tables')).data;

test.each<readonly [string, readonly Answer[], readonly string[]]>([
  ['a good answer', [good], []],
  ['too many requests', [refusal(429, 'rate_limited', { 'retry-after': '1' }), good], ['rate_limited: said']],
  [
    'too many requests again and again',
    [refusal(429, 'rate_limited'), refusal(429, 'rate_limited', { 'retry-after': 'soon' }), good],
    ['rate_limited: said', 'rate_limited: said'],
  ],
  [
    'a service that is away',
    [refusal(503, 'service_unavailable'), refusal(503, 'outcome_unknown'), good],
    ['service_unavailable: said', 'outcome_unknown: said'],
  ],
  [
    'a proxy whose service is away',
    [(response) => response.writeHead(502).end('<html>'), good],
    [expect.stringContaining('answers 502') as unknown as string],
  ],
])('%s leads to an answer', async (_what, given, told) => {
  answers = [...given];
  expect(await get()).toEqual({ data: 7 });
  expect(asked).toBe(given.length);
  expect(retries).toEqual(told);
});

test('after one answer, broken connections are tried again, also in the middle of an answer', async () => {
  answers = [good, broken, half, broken, good];
  await get();
  expect(await get()).toEqual({ data: 7 });
  expect(asked).toBe(5);
  expect(retries).toHaveLength(3);
});

test.each<readonly [string, Answer, string]>([
  ['a refusal', refusal(422, 'column_has_invalid_value'), 'column_has_invalid_value: said'],
  ['a bug of the service', refusal(500, 'internal_error'), 'internal_error: said'],
  [
    'a redirect',
    (response) => response.writeHead(308, { location: 'https://elsewhere.example.org/' }).end(),
    'The server has moved: it answers 308 with https://elsewhere.example.org/. Use that as the URL.',
  ],
  [
    'a page',
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    'The server answers 200, but not as Tablog does. Check the URL.',
  ],
  [
    'an error of something else',
    json(404, { detail: 'no' }),
    'The server answers 404, but not as Tablog does. Check the URL.',
  ],
])('%s is told at once', async (_what, answer, message) => {
  answers = [answer];
  expect(await get().catch(describeServerError)).toBe(message);
  expect(asked).toBe(1);
});

const turnedAway = json(
  503,
  {
    error: {
      type: 'outcome_unknown',
      message: 'too much. An earlier try with the same Idempotency-Key may still take effect: get the job.',
    },
  },
  { 'tablog-turned-away': 'payment_required', 'retry-after': '0' },
);
const write = (): Promise<unknown> => client.table('t').add([{ a: 1 }]);

test('a write whose first try is turned away is refused at once', async () => {
  answers = [turnedAway];
  const error = await write().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ status: 402, type: 'payment_required', message: 'too much' });
  expect(asked).toBe(1);
});

test('a write that is turned away after an unanswered try is repeated until the outcome of that try is known', async () => {
  answers = [good, broken, turnedAway, turnedAway, refusal(404, 'table_not_found')];
  await get();
  expect(await write().catch(describeServerError)).toBe('table_not_found: said');
  expect(asked).toBe(5);
});

test('a key that the caller made may have been sent before', async () => {
  answers = [turnedAway, refusal(404, 'table_not_found')];
  await expect(
    client.operations.POST('/tables/{tableID}/rows', {
      params: { path: { tableID: 't' }, header: { 'Idempotency-Key': 'own' } },
      body: [],
    }),
  ).rejects.toThrow('said');
  expect(asked).toBe(2);
});

test('a server that never answered is not retried', async () => {
  answers = [broken];
  await expect(get()).rejects.toThrow(Unreachable);
  expect(asked).toBe(1);
});

test('a caller that stops it during a rate limit gets the reason', async () => {
  answers = [
    (response) => {
      refusal(429, 'rate_limited', { 'retry-after': '99999999999' })(response);
      response.once('close', () => stopping.abort(new Error('stopped')));
    },
  ];
  await expect(get()).rejects.toThrow('stopped');
  expect(asked).toBe(1);
});

test('a caller that stops it gets the reason', async () => {
  answers = [() => stopping.abort(new Error('stopped'))];
  await expect(get()).rejects.toThrow('stopped');
  await expect(get()).rejects.toThrow('stopped');
  expect(asked).toBe(1);
});

test('if a caller stops it, a chunk in transit still arrives, and its stash is deleted afterwards', async () => {
  const done: string[] = [];
  answers = [
    (response) => {
      stopping.abort(new Error('stopped'));
      setTimeout(() => {
        done.push('put');
        json(200, {})(response);
      }, 50);
    },
    (response) => {
      done.push('deleted');
      json(200, {})(response);
    },
  ];
  const stash = client.stash('s');
  await expect(stash.put(0, '[]')).rejects.toThrow('stopped');
  await stash.delete();
  expect(done).toEqual(['put', 'deleted']);
});

test.each(['table 2', '01890000-0000-7000-8000-000000000002'])(
  'a table is searched on every page: %s',
  async (idOrName) => {
    const tables = [0, 1, 2].map((at) => ({ id: `01890000-0000-7000-8000-00000000000${at}`, name: `table ${at}` }));
    answers = [
      json(200, { data: [tables[0]], continuation: 'a' }),
      json(200, { data: [tables[1]], continuation: 'b' }),
      json(200, { data: [tables[2]] }),
    ];
    expect(await findTable(client, idOrName)).toEqual(tables[2]);
    expect(paths).toEqual(['/tables', '/tables?continuation=a', '/tables?continuation=b']);
  },
);

test.each([NaN, Infinity, -Infinity])(
  '%s in a row throws, and nothing is sent, because JSON would turn it into null and empty the cell',
  async (number) => {
    answers = [good];
    const rows = [
      { name: null, n: 1 },
      { name: 'null', n: number },
    ];
    await expect(client.operations.POST('/tables', { params: { query: { name: 't' } }, body: rows })).rejects.toThrow(
      `"n" is ${number}, which is not a number in JSON`,
    );
    await expect(client.table('t').load(rows)).rejects.toThrow(TypeError);
    expect(paths.filter((path) => !path.startsWith('/stashes/'))).toEqual([]);
  },
);

test('answers are parsed with the function that the program passes', async () => {
  const text = '{"data":[{"id":"t","n":4.20}]}';
  answers = [
    (response) => response.setHeader('content-type', 'application/json').end(text),
    // Without a length.
    (response) => {
      response.setHeader('content-type', 'application/json').write(text.slice(0, 9));
      response.end(text.slice(9));
    },
  ];
  const read: string[] = [];
  const parseJson = (json: string): unknown => {
    read.push(json);
    return JSON.parse(json);
  };
  const { port } = server.address() as AddressInfo;
  const other = new Tablog({ url: `http://127.0.0.1:${port}`, token: 't', parseJson });
  for (let time = 0; time < 2; time += 1) {
    const { data } = await other.operations.GET('/tables', {});
    expect(data).toEqual(JSON.parse(text));
  }
  expect(read).toEqual([text, text]);
});
