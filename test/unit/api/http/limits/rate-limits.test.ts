/** How requests and rows of a team are counted, and how the answers say what is left. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../../support/property.ts';
import { parseList, type Item } from 'structured-headers';
import { HttpError } from '../../../../../src/api/http/answers/http-error.ts';
import { RateLimit } from '../../../../../src/api/http/limits/rate-limit.ts';
import { RateLimits } from '../../../../../src/api/http/limits/rate-limits.ts';
import type { LimitName } from '../../../../../src/api/http/server/request-observer.ts';
import { replyNotModified } from '../../../../../src/api/http/requests/versions.ts';
import { sleepUntil } from '../../../../support/server.ts';
import { authorization, buildEdge, errorOf, type Edge } from '../server/edge-app.ts';

const hour = 3_600_000;

/** For each number of units whether they were let in, one after the other. */
function take(limit: RateLimit, team: string, ...units: readonly number[]): boolean[] {
  return units.map((one) => limit.take(team, one) === null);
}

describe('what is counted', () => {
  test.each<[what: string, max: number, units: number[], taken: boolean[], left: number]>([
    ['all that is left may be taken', 10, [4, 6], [true, true], 0],
    ['one more than is left may not, and counts nothing', 10, [4, 7, 6], [true, false, true], 0],
    ['nothing is always possible', 10, [10, 0, 1], [true, true, false], 0],
    ['an untouched window takes more than there is, and then is used up', 10, [25, 0, 1], [true, true, false], 0],
    ['a window that was touched does not', 10, [1, 25, 9], [true, false, true], 0],
    ['a window that is used up takes nothing, however much it is', 10, [10, 25, 1], [true, false, false], 0],
    ['taking nothing does not touch a window', 10, [0, 25], [true, true], 0],
    ['one a window', 1, [1, 1], [true, false], 0],
    ['some are left', 10, [3, 3], [true, true], 4],
  ])('a limit counts: %s', (_what, max, units, taken, left) => {
    const limit = new RateLimit('rows', max, hour);
    expect(take(limit, 'a', ...units)).toEqual(taken);
    expect(limit.left('a').units).toBe(left);
  });

  test('each team has its own window', () => {
    const limit = new RateLimit('requests', 1, hour);
    expect([take(limit, 'a', 1, 1), take(limit, 'b', 1, 1)]).toEqual([
      [true, false],
      [true, false],
    ]);
    expect([limit.left('c'), limit.left('b').units]).toEqual([{ units: 1, seconds: 3600 }, 0]);
  });

  test('every request is counted', () => {
    const step = fc.record({ late: fc.boolean(), units: fc.integer({ min: 0, max: 40 }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.array(step, { maxLength: 30 }), (max, steps) => {
        const limit = new RateLimit('rows', max, hour);
        let used = 0;
        for (const { late, units } of steps) {
          const fits = late || units === 0 || used === 0 || used + units <= max;
          expect((late ? limit.count('a', units) : limit.take('a', units)) ?? null).toEqual(
            fits ? null : expect.objectContaining({ headers: { 'retry-after': expect.any(String) } }),
          );
          if (fits) used += units;
        }
        expect(limit.left('a').units).toBe(Math.max(0, max - used));
      }),
    );
  });

  /** Hours, so that a test that is slow by minutes says the same. */
  test.each<[what: string, counted: number[], taken: number, hours: number]>([
    ['within the limit', [600], 400, 1],
    ['taken beyond it', [], 2500, 2.5],
    ['counted beyond it', [1000, 1], 0, 1.001],
    ['beyond it in pieces', [1500, 250, 250], 0, 2],
    ['beyond what a timer takes', [], 10_000_000, 10_000],
  ])('a window is open for as long as the limit takes for what was counted: %s', (_what, counted, taken, hours) => {
    const limit = new RateLimit('rows', 1000, hour);
    for (const units of counted) limit.count('a', units);
    limit.take('a', taken);
    const { seconds } = limit.left('a');
    expect(seconds).toBeLessThanOrEqual(Math.ceil(hours * 3600));
    expect(seconds).toBeGreaterThan(hours * 3600 - 600);
    const refusal = limit.take('a', 1001);
    expect(Number(refusal!.headers['retry-after'])).toBeGreaterThanOrEqual(limit.left('a').seconds);
  });

  test('when a window has ended, the next one begins at 0', async () => {
    const limit = new RateLimit('rows', 10, 50);
    for (const units of [10, 15, 3])
      await sleepUntil(async () => limit.take('a', units) === null, 'the window has ended');
    await sleepUntil(async () => limit.left('a').units === 10, 'the window has ended');
  });
});

interface Limited extends Edge {
  readonly refused: LimitName[];
  /** How many requests got to their route. */
  readonly reached: () => number;
}

function limited(settings: { requests?: number; rows?: number; windowMs?: number }): Limited {
  const refused: LimitName[] = [];
  let reached = 0;
  const limits = RateLimits.of(
    {
      RATE_LIMIT_REQUESTS: settings.requests,
      RATE_LIMIT_ROWS: settings.rows,
      RATE_LIMIT_WINDOW_MS: settings.windowMs ?? hour,
    },
    { rateLimited: (limit) => void refused.push(limit) },
  );
  const edge = buildEdge((app) => {
    limits?.addTo(app);
    app.get('/public', { config: { public: true } }, () => ({ data: 'public' }));
    app.get('/tables', () => ({ data: (reached += 1) }));
    app.get('/same', (_request, reply) => replyNotModified(reply, 7n));
    app.get('/refused', () => {
      throw new HttpError('table_not_found', 'none');
    });
    app.get('/bug', () => {
      throw new Error('a bug');
    });
    app.post<{ Params: { rows: string } }>('/rows/:rows', async (request) => {
      limits?.take('rows', request.principal.teamId, Number(request.params.rows));
      return { data: {} };
    });
  });
  return { ...edge, refused, reached: () => reached };
}

const headers = { authorization };

/** `[['requests', {r: 1, t: 2}]]` */
function read(field: unknown): unknown[] {
  return (parseList(String(field)) as Item[]).map(([name, parameters]) => [name, Object.fromEntries(parameters)]);
}

describe('the fields', () => {
  test('show each limit and how much of it is left', async () => {
    const { app } = limited({ requests: 5, rows: 100, windowMs: 86_399_500 });
    await app.inject({ method: 'POST', url: '/rows/30', headers });
    const answer = await app.inject({ url: '/tables', headers });
    const seconds = expect.any(Number);
    expect(read(answer.headers['ratelimit-policy'])).toEqual([
      ['requests', { q: 5, w: 86_400 }],
      ['rows', { q: 100, qu: 'rows', w: 86_400 }],
    ]);
    expect(read(answer.headers['ratelimit'])).toEqual([
      ['requests', { r: 3, t: seconds }],
      ['rows', { r: 70, t: seconds }],
    ]);
    for (const [, { t }] of read(answer.headers['ratelimit']) as [string, { t: number }][]) {
      expect(Number.isInteger(t) && t > 80_000 && t <= 86_400).toBe(true);
    }
  });

  test.each([
    [{ requests: 5 }, [['requests', { q: 5, w: 3600 }]]],
    [{ rows: 2_147_483_647 }, [['rows', { q: 2_147_483_647, qu: 'rows', w: 3600 }]]],
  ])('%j: show only limits that are set', async (settings, policies) => {
    const { app } = limited(settings);
    const answer = await app.inject({ url: '/tables', headers });
    expect(read(answer.headers['ratelimit-policy'])).toEqual(policies);
    expect(read(answer.headers['ratelimit'])).toHaveLength(1);
  });

  test.each([
    ['/tables', 200],
    ['/same', 304],
    ['/refused', 404],
    ['/bug', 500],
    ['/tables?x=1', 400],
    ['/tables?%', 400],
  ])('are on %s with status %i, which counts', async (url, status) => {
    const { app } = limited({ requests: 5 });
    await app.inject({ url: '/tables', headers });
    const answer = await app.inject({ url, headers });
    expect(answer.statusCode).toBe(status);
    expect(read(answer.headers['ratelimit'])).toEqual([['requests', { r: 3, t: expect.any(Number) }]]);
    expect(answer.headers['ratelimit-policy']).toBe('"requests";q=5;w=3600');
  });

  test.each([
    ['a public route', { url: '/public', headers }, 200],
    ['a wrong token', { url: '/tables', headers: { authorization: 'Bearer x' } }, 404],
    ['a path where nothing is', { url: '/nothing', headers }, 404],
    ['a wrong method', { method: 'PUT', url: '/tables', headers }, 405],
  ] as const)('are not on %s, which does not count', async (_what, request, status) => {
    const { app } = limited({ requests: 1, rows: 1 });
    const answer = await app.inject(request);
    expect(answer.statusCode).toBe(status);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    expect((await app.inject({ url: '/tables', headers })).statusCode).toBe(200);
  });

  test('are on no answer without limits', async () => {
    expect(RateLimits.of({ RATE_LIMIT_WINDOW_MS: 1000 }, { rateLimited: () => undefined })).toBeNull();
    const { app } = limited({});
    const answer = await app.inject({ url: '/tables', headers });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  });
});

describe('use beyond a limit', () => {
  test('refuses requests before they reach their route', async () => {
    const { app, refused, reached } = limited({ requests: 2 });
    const answers = await Promise.all(Array.from({ length: 5 }, () => app.inject({ url: '/tables', headers })));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 200, 429, 429, 429]);
    expect([reached(), refused]).toEqual([2, ['requests', 'requests', 'requests']]);
    const answer = answers.find(({ statusCode }) => statusCode === 429)!;
    expect(answer.json()).toEqual(
      errorOf(
        'rate_limited',
        expect.stringMatching(/^The team is limited to 2 requests in 3600 s\. It has 0 left for the next \d+ s\.$/),
      ),
    );
    const [[, { r, t }]] = read(answer.headers['ratelimit']) as [[string, { r: number; t: number }]];
    expect([r, answer.headers['request-id']]).toEqual([0, expect.any(String)]);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(t);
  });

  test('refuses rows where they are counted', async () => {
    const { app, refused } = limited({ requests: 10, rows: 10 });
    const statuses: number[] = [];
    for (const rows of [4, 7, 6, 1])
      statuses.push((await app.inject({ method: 'POST', url: `/rows/${rows}`, headers })).statusCode);
    expect([statuses, refused]).toEqual([
      [200, 429, 200, 429],
      ['rows', 'rows'],
    ]);
    const answer = await app.inject({ method: 'POST', url: '/rows/1', headers });
    expect(read(answer.headers['ratelimit'])).toMatchObject([
      ['requests', { r: 5 }],
      ['rows', { r: 0 }],
    ]);
    expect(answer.json().error.message).toMatch(
      /^The team is limited to 10 rows in 3600 s\. It has 0 left for the next \d+ s\.$/,
    );
  });
});
