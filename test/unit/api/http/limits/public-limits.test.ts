/**
 * What one client address may ask for without a token, how many connections it may open, and how clients behind a proxy
 * are told apart.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { AddressLimit } from '../../../../../src/api/http/limits/address-limit.ts';
import { FairShares } from '../../../../../src/api/http/limits/fair-shares.ts';
import { RefilledLimit } from '../../../../../src/api/http/limits/refilled-limit.ts';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import type { AppDependencies } from '../../../../../src/api/http/server/app.ts';
import { buildFillingApp } from '../../../../../src/api/http/server/filling-app.ts';
import type { CloseReason } from '../../../../../src/api/http/server/request-observer.ts';
import { trustIn } from '../../../../../src/api/http/server/trusted-proxies.ts';
import { sleepUntil } from '../../../../support/server.ts';
import {
  authorization,
  buildEdge,
  closeAfterTest,
  edgeConfig,
  errorOf,
  listen,
  RawClient,
  requestText,
  type Edge,
} from '../server/edge-app.ts';

const hour = 3_600_000;
const day = 24 * hour;

interface Observed {
  readonly refused: string[];
  readonly closed: CloseReason[];
}

/** An observer that notes what is refused and closed, and a limit of so many requests without a token in a day. */
function observe(
  max: number,
): Observed & { readonly observer: AppDependencies['observer']; readonly publicLimit: AddressLimit | null } {
  const refused: string[] = [];
  const closed: CloseReason[] = [];
  const observer: AppDependencies['observer'] = {
    began: () => undefined,
    shareRefused: () => undefined,
    refused: () => undefined,
    ended: () => undefined,
    rateLimited: (limit) => void refused.push(limit),
    connectionClosed: (reason) => void closed.push(reason),
  };
  return {
    refused,
    closed,
    observer,
    publicLimit: AddressLimit.of(
      'public_requests',
      { RATE_LIMIT_REFUSALS: 0, RATE_LIMIT_PUBLIC: max, RATE_LIMIT_WINDOW_MS: day },
      observer,
    ),
  };
}

/** An edge whose clients may send this many requests without a token in a day. */
function limited(max: number, changes: Partial<AppDependencies> = {}): Edge & Observed {
  const { refused, closed, ...limits } = observe(max);
  return {
    ...buildEdge(
      (app) => {
        app.get('/own', () => ({ data: 'own' }));
        app.get('/public', { config: { public: true } }, ({ ip }) => ({ data: ip }));
      },
      { ...limits, ...changes },
    ),
    refused,
    closed,
  };
}

/** The same of a process that fills its read model. */
function fillingEdge(config: Partial<AppDependencies['config']>, max: number): Observed & { readonly app: App } {
  const { refused, closed, ...limits } = observe(max);
  const app = buildFillingApp({
    config: { ...edgeConfig, ...config },
    log: pino({ enabled: false }),
    describe: () => 'The read model has half of it.',
    routes: [],
    ...limits,
  });
  closeAfterTest(app);
  return { app, refused, closed };
}

/** Waits until the service closes the connection, also by a reset, and gives all that came. */
async function cutOff(client: RawClient): Promise<string> {
  const { socket } = client;
  if (!socket.readableEnded && !socket.closed)
    await new Promise((resolve) => {
      socket.once('end', resolve).once('close', resolve);
    });
  return client.received;
}

describe('a limit that is refilled', () => {
  test('gives all its units at once, and then as many as are refilled', async () => {
    const limit = new RefilledLimit('refusals', 2, 200);
    expect([1, 2, 3].map(() => limit.take('a') === null)).toEqual([true, true, false]);
    expect(limit.take('b')).toBeNull();
    await sleepUntil(async () => !limit.isUsedUp('a'), 'a unit has come back');
    expect(limit.take('a')).toBeNull();
  });

  test('says when the next unit is available', () => {
    const limit = new RefilledLimit('refusals', 2, hour);
    limit.count('a', 2);
    expect(limit.take('a')).toEqual({
      message: 'The client address is limited to 2 refusals in 3600 s. Try again in 1800 s.',
      headers: { 'retry-after': '1800' },
    });
  });

  test('has a debt of at most its maximum, and never more units than that', () => {
    const limit = new RefilledLimit('refusals', 2, hour);
    limit.count('a', 100);
    expect(limit.take('a')?.headers).toEqual({ 'retry-after': '5400' });
    limit.count('b', -100);
    expect([1, 2, 3].map(() => limit.take('b') === null)).toEqual([true, true, false]);
  });
});

describe('requests without a token', () => {
  test('are refused on every path once the address has used up its limit', async () => {
    const paths = [
      ['GET', '/livez'],
      ['HEAD', '/livez'],
      ['GET', '/readyz'],
      ['GET', '/'],
      ['GET', '/console/x.js'],
      ['GET', '/docs'],
      ['GET', '/docs/start.js'],
      ['GET', '/openapi.json'],
      ['GET', '/public'],
      ['GET', '/nothing'],
      ['OPTIONS', '/own'],
      ['GET', '/%zz'],
    ] as const;
    // At once, because each refusal is held back for a second.
    await Promise.all(
      paths.map(async ([method, url]) => {
        const { app, refused } = limited(1);
        // A token makes no difference there.
        const ask = () => app.inject({ method, url, headers: { authorization } });
        expect((await ask()).statusCode).not.toBe(429);
        const answer = await ask();
        expect([url, answer.statusCode, Number(answer.headers['retry-after']) > 80_000, refused]).toEqual([
          url,
          429,
          true,
          ['public_requests'],
        ]);
        if (method !== 'HEAD')
          expect(answer.json()).toEqual(
            errorOf('rate_limited', expect.stringContaining('1 public requests in 86400 s')),
          );
      }),
    );
  });

  test('requests with a valid token do not count, and are never refused', async () => {
    const { app, refused } = limited(1);
    const own = async (): Promise<number> => (await app.inject({ url: '/own', headers: { authorization } })).statusCode;
    expect([await own(), await own()]).toEqual([200, 200]);
    expect((await app.inject('/livez')).statusCode).toBe(200);
    expect((await app.inject('/livez')).statusCode).toBe(429);
    expect([await own(), refused]).toEqual([200, ['public_requests']]);
  });
});

describe('while a process fills its read model', () => {
  const open = (publicMax: number, config: Partial<AppDependencies['config']> = {}) =>
    fillingEdge({ RATE_LIMIT_WINDOW_MS: day, ...config }, publicMax);

  test('requests are refused on every path once the address has used up its limit, also those with a token', async () => {
    const paths = [
      ['GET', '/livez'],
      ['GET', '/readyz'],
      ['GET', '/tables'],
      ['PATCH', '/tables/x/rows'],
      ['OPTIONS', '/tables'],
      ['GET', '/%zz'],
    ] as const;
    await Promise.all(
      paths.map(async ([method, url]) => {
        const { app, refused } = open(1);
        const ask = () => app.inject({ method, url, headers: { authorization } });
        expect((await ask()).statusCode).toBe(url === '/livez' ? 200 : url === '/%zz' ? 400 : 503);
        const answer = await ask();
        expect([url, answer.statusCode, answer.json(), refused]).toEqual([
          url,
          429,
          errorOf('rate_limited', expect.stringContaining('1 public requests in 86400 s')),
          ['public_requests'],
        ]);
      }),
    );
  });

  test('new connections of one address beyond its limit are closed unread, and its open ones are bounded', async () => {
    const { app, closed } = open(0, { RATE_LIMIT_CONNECTIONS: 3, CONNECTIONS_PER_ADDRESS_MAX: 2 });
    const port = await listen(app);
    const [first] = [await RawClient.open(port), await RawClient.open(port)];
    const third = await RawClient.open(port);
    third.send(requestText('GET /tables'));
    await third.see(/503 [^]*half of it/);
    expect(await cutOff(first)).toBe('');
    const fourth = await RawClient.open(port);
    fourth.send(requestText('GET /tables'));
    expect(await cutOff(fourth)).toBe('');
    expect(closed).toEqual(['open_of_address', 'new_of_address']);
  });

  test('requests sent before earlier answers are read count as connections', async () => {
    const { app, closed } = open(0, { RATE_LIMIT_CONNECTIONS: 300 });
    const port = await listen(app);
    const greedy = await RawClient.open(port);
    greedy.send('GET /livez HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(600));
    await cutOff(greedy);
    expect(await cutOff(await RawClient.open(port))).toBe('');
    expect(closed).toEqual(['new_of_address']);
  });
});

describe('new connections', () => {
  const open = (changes: Partial<AppDependencies['config']>) =>
    limited(0, { config: { ...edgeConfig, RATE_LIMIT_CONNECTIONS: 2, RATE_LIMIT_WINDOW_MS: day, ...changes } });

  test('new connections of one address beyond its limit are closed unread, and older ones stay open', async () => {
    const { app, closed } = open({});
    const port = await listen(app);
    const first = await RawClient.open(port);
    first.send('GET /public HTTP/1.1\r\nHost: h\r\n\r\n');
    await first.see(/127\.0\.0\.1/);
    await RawClient.open(port);
    const third = await RawClient.open(port);
    third.send(requestText('GET /own'));
    expect(await cutOff(third)).toBe('');
    expect(closed).toEqual(['new_of_address']);
    first.send(requestText('GET /own'));
    await first.see(/own/);
  });

  test('do not count if a request with a valid token arrives on them', async () => {
    const { app, closed } = open({});
    const port = await listen(app);
    for (let count = 0; count < 5; count += 1) {
      const client = await RawClient.open(port);
      client.send(requestText('GET /own') + requestText('GET /own'));
      await client.see(/own[^]*own/);
    }
    expect(closed).toEqual([]);
    await RawClient.open(port);
    await RawClient.open(port);
    expect(await cutOff(await RawClient.open(port))).toBe('');
    expect(closed).toEqual(['new_of_address']);
  });

  test('count several times if their client sends many requests and reads no answer', async () => {
    const { app, closed } = open({ RATE_LIMIT_CONNECTIONS: 300 });
    const port = await listen(app);
    const greedy = await RawClient.open(port);
    greedy.send('GET /public HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(600));
    await cutOff(greedy);
    const next = await RawClient.open(port);
    next.send(requestText('GET /own'));
    expect(await cutOff(next)).toBe('');
    expect(closed).toEqual(['new_of_address']);
  });
});

describe('connections that are closed are counted', () => {
  test.each<[CloseReason, Partial<AppDependencies['config']>]>([
    ['open', { CONNECTIONS_MAX: 1, CONNECTIONS_PER_ADDRESS_MAX: 10 }],
    ['open_of_address', { CONNECTIONS_PER_ADDRESS_MAX: 1 }],
  ])('a closed connection is counted as %s', async (reason, changes) => {
    const { app, closed } = limited(0, { config: { ...edgeConfig, ...changes } });
    const port = await listen(app);
    const idle = await RawClient.open(port);
    await RawClient.open(port);
    await idle.ended();
    expect(closed).toEqual([reason]);
  });
});

describe('behind a proxy', () => {
  const clientOf = async (
    trusted: AppDependencies['config']['TRUSTED_PROXIES'],
    forwarded: string,
  ): Promise<unknown> => {
    const { app } = limited(0, {
      config: { ...edgeConfig, ...(trusted !== undefined && { TRUSTED_PROXIES: trusted }) },
    });
    return (
      await app.inject({ url: '/public', headers: { 'x-forwarded-for': forwarded }, remoteAddress: '10.0.0.7' })
    ).json().data;
  };

  test.each([
    ['nobody is trusted', undefined, '203.0.113.9', '10.0.0.7'],
    ['the proxy is trusted', ['10.0.0.7'], '203.0.113.9', '203.0.113.9'],
    ['another one is', ['10.0.0.8'], '203.0.113.9', '10.0.0.7'],
    ['its network is', ['10.0.0.0/8'], '203.0.113.9', '203.0.113.9'],
    [
      'what a client forged comes before what the proxy added',
      ['10.0.0.7'],
      '198.51.100.1, 203.0.113.9',
      '203.0.113.9',
    ],
    ['two proxies', ['10.0.0.0/8'], '198.51.100.1, 203.0.113.9, 10.0.0.9', '203.0.113.9'],
    ['one proxy, by number', 1, '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    ['two proxies, by number', 2, '198.51.100.1, 203.0.113.9', '198.51.100.1'],
  ] as const)('the address of the client is known if %s', async (_what, trusted, forwarded, client) => {
    expect(await clientOf(trusted, forwarded)).toBe(client);
  });

  test('clients have limits of their own, and an address that others forge has no effect', async () => {
    const { app } = limited(1, { config: { ...edgeConfig, TRUSTED_PROXIES: ['10.0.0.7'] } });
    const ask = async (remoteAddress: string, client: string): Promise<number> =>
      (await app.inject({ url: '/livez', headers: { 'x-forwarded-for': client }, remoteAddress })).statusCode;
    expect([
      await ask('10.0.0.7', '203.0.113.9'),
      await ask('10.0.0.7', '203.0.113.10'),
      await ask('10.0.0.7', '203.0.113.9'),
    ]).toEqual([200, 200, 429]);
    expect([await ask('198.51.100.1', '203.0.113.11'), await ask('198.51.100.1', '203.0.113.12')]).toEqual([200, 429]);
    expect(await ask('10.0.0.7', '203.0.113.11')).toBe(200);
  });

  test('connections of the proxy do not have the limits of a client', async () => {
    const config = {
      ...edgeConfig,
      CONNECTIONS_PER_ADDRESS_MAX: 1,
      RATE_LIMIT_CONNECTIONS: 1,
      RATE_LIMIT_WINDOW_MS: day,
      TRUSTED_PROXIES: ['127.0.0.1'],
    };
    const { app, closed } = limited(0, { config });
    const port = await listen(app);
    const clients = [await RawClient.open(port), await RawClient.open(port), await RawClient.open(port)];
    for (const client of clients)
      client.send('GET /public HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n');
    for (const client of clients) await client.see(/"203\.0\.113\.9"/);
    expect(closed).toEqual([]);
  });

  test('an IPv4 address within IPv6 is that IPv4 address', () => {
    expect(trustIn(['10.0.0.7'])('::ffff:10.0.0.7', 0)).toBe(true);
    expect(trustIn(['10.0.0.7'])(undefined, 0)).toBe(false);
  });
});

test('static files count as outgoing bytes until the client has taken them', async () => {
  const outgoingBytes = new FairShares({
    name: 'outgoing_bytes',
    capacity: 2 ** 26,
    holder: 'team or client address',
    waitMs: 10,
    onRefused: () => undefined,
  });
  const { app } = limited(0, { outgoingBytes });
  const port = await listen(app);
  const client = await RawClient.open(port);
  client.socket.pause();
  client.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(50));
  await sleepUntil(async () => outgoingBytes.used > 1_000_000, 'an answer waits for its client');
  // The answers behind it are not made meanwhile.
  await sleep(20);
  expect(outgoingBytes.used).toBeLessThan(5_000_000);
  client.socket.destroy();
  await sleepUntil(async () => outgoingBytes.used === 0, 'the bytes are given back');
});

test('a static file is refused while too many bytes for its address are in transit', async () => {
  const outgoingBytes = new FairShares({
    name: 'outgoing_bytes',
    capacity: 1000,
    holder: 'team or client address',
    waitMs: 10,
    onRefused: () => undefined,
  });
  const { app } = limited(0, { outgoingBytes });
  await outgoingBytes.take('address 127.0.0.1', 1000);
  const answer = await app.inject('/docs/start.js');
  expect([answer.statusCode, answer.json()]).toEqual([
    429,
    errorOf('rate_limited', expect.stringContaining('The team or client address has too many requests in progress')),
  ]);
  expect((await app.inject({ method: 'HEAD', url: '/docs/start.js' })).statusCode).toBe(200);
});
