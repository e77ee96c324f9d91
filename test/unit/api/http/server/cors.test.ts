/** CORS (CORS_ORIGINS): which origins may ask, what their scripts may read, and what preflights cost. */
import { describe, expect, test } from '@jest/globals';
import { AddressLimit } from '../../../../../src/api/http/limits/address-limit.ts';
import { RateLimits } from '../../../../../src/api/http/limits/rate-limits.ts';
import { setVersion } from '../../../../../src/api/http/requests/versions.ts';
import { authorization, buildEdge, edgeConfig, errorOf, type Edge } from './edge-app.ts';

const app = 'https://app.example.org';
const other = 'https://other.example.org';
const hour = 3_600_000;

const observer = { rateLimited: () => undefined };

function edge(origins: '*' | string[] | undefined, preflightLimit: AddressLimit | null = null): Edge {
  return buildEdge(
    (server) => {
      RateLimits.of({ RATE_LIMIT_REQUESTS: 3, RATE_LIMIT_WINDOW_MS: hour }, observer)!.addTo(server);
      server.get('/tables', (_request, reply) => setVersion(reply, 7n).send({ data: [] }));
      server.get('/bug', () => {
        throw new Error('a bug');
      });
    },
    { config: { ...edgeConfig, ...(origins !== undefined && { CORS_ORIGINS: origins }) }, preflightLimit },
  );
}

const preflight = {
  'origin': app,
  'access-control-request-method': 'PATCH',
  'access-control-request-headers': 'authorization,if-match',
};

/** What of an answer is about CORS. */
function corsIn(headers: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
}

test('is off by default', async () => {
  const { app: server } = edge(undefined);
  const answer = await server.inject({ url: '/tables', headers: { authorization, origin: app } });
  expect([answer.statusCode, corsIn(answer.headers), answer.headers.vary]).toEqual([
    200,
    {},
    'Accept-Encoding, Authorization',
  ]);
  const asked = await server.inject({ method: 'OPTIONS', url: '/tables', headers: preflight });
  expect([asked.statusCode, asked.headers.allow, corsIn(asked.headers)]).toEqual([405, 'GET', {}]);
});

describe('an answer', () => {
  test.each<[origins: '*' | string[], from: string, allowed: string | undefined]>([
    ['*', other, '*'],
    [[app], app, app],
    [[other, app], app, app],
    [[app], other, undefined],
    [[app], `${app}.evil.org`, undefined],
    [[app], 'null', undefined],
  ])('for CORS_ORIGINS=%s and a page of %s allows %s', async (origins, from, allowed) => {
    const { headers } = await edge(origins).app.inject({ url: '/tables', headers: { authorization, origin: from } });
    expect(headers['access-control-allow-origin']).toBe(allowed);
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers.vary).toBe('Origin, Accept-Encoding, Authorization');
  });

  test('lets scripts read the headers of the interface', async () => {
    const { headers } = await edge([app]).app.inject({ url: '/tables', headers: { authorization, origin: app } });
    const exposed = String(headers['access-control-expose-headers']).split(', ');
    expect(exposed).toEqual(
      expect.arrayContaining(['ETag', 'Location', 'Retry-After', 'Request-ID', 'RateLimit', 'Tablog-Count']),
    );
    expect(new Set(exposed).size).toBe(exposed.length);
  });

  test.each<[what: string, url: string, headers: Record<string, string>, status: number]>([
    ['no token', '/tables', {}, 404],
    ['an unknown path', '/nothing', { authorization }, 404],
    ['a bug', '/bug', { authorization }, 500],
    ['a bad query', '/tables?x=1', { authorization }, 400],
  ])('to %s allows it too', async (_what, url, headers, status) => {
    const answer = await edge([app]).app.inject({ url, headers: { ...headers, origin: app } });
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([status, app]);
  });

  test('to a request beyond the rate limit has the headers too', async () => {
    const { app: server } = edge([app]);
    const ask = () => server.inject({ url: '/tables', headers: { authorization, origin: app } });
    for (let n = 0; n < 3; n += 1) await ask();
    const { statusCode, headers } = await ask();
    expect([statusCode, headers['access-control-allow-origin']]).toEqual([429, app]);
  });
});

describe('a preflight', () => {
  test('needs no token, and browsers cache its answer', async () => {
    const answer = await edge([app]).app.inject({ method: 'OPTIONS', url: '/tables/x/rows/y', headers: preflight });
    expect([answer.statusCode, answer.body]).toEqual([204, '']);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': app,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'authorization,if-match',
      'access-control-max-age': '7200',
    });
  });

  test('a preflight of another origin is not allowed', async () => {
    const answer = await edge([app]).app.inject({
      method: 'OPTIONS',
      url: '/tables',
      headers: { ...preflight, origin: other },
    });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  test.each([{}, { origin: app }, { 'access-control-request-method': 'PUT' }])(
    'is no request with OPTIONS and %j',
    async (headers) => {
      const answer = await edge('*').app.inject({ method: 'OPTIONS', url: '/tables', headers });
      expect([answer.statusCode, answer.headers.allow, answer.json()]).toEqual([
        405,
        'GET',
        errorOf('method_not_allowed'),
      ]);
      expect((await edge('*').app.inject({ method: 'OPTIONS', url: '/nothing', headers })).json()).toEqual(
        errorOf('not_found'),
      );
    },
  );

  test('too many from one address are refused', async () => {
    const limit = AddressLimit.of(
      'preflights',
      { RATE_LIMIT_REFUSALS: 1, RATE_LIMIT_PUBLIC: 0, RATE_LIMIT_WINDOW_MS: hour },
      observer,
    );
    const { app: server } = edge([app], limit);
    const ask = () => server.inject({ method: 'OPTIONS', url: '/tables', headers: preflight });
    for (let n = 0; n < 10; n += 1) expect((await ask()).statusCode).toBe(204);
    const refused = await ask();
    expect([refused.statusCode, refused.json()]).toEqual([
      429,
      errorOf('rate_limited', expect.stringContaining('10 preflights')),
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await server.inject({ url: '/tables', headers: { authorization, origin: app } })).statusCode).toBe(200);
  });
});
