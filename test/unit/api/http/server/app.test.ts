import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { App } from '../../../../../src/api/http/server/app-type.ts';
import { HttpError } from '../../../../../src/api/http/answers/http-error.ts';
import { NotAppended, ProjectionBug } from '../../../../../src/log/event-log.ts';
import { authorization, buildEdge, edgeConfig, errorOf, validationErrorAt, type Edge, unlimited } from './edge-app.ts';

const headers = { authorization };

function addRoutes(app: App): void {
  app.get('/tables', (request) => ({ data: request.principal }));
  app.post('/tables', (_request, reply) => reply.code(201).send({ data: {} }));
  app.head('/tables/:tableID/rows', (_request, reply) => reply.header('etag', '"7"').send());
  app.get('/tables/:tableID/rows', {
    schema: { querystring: z.strictObject({ limit: z.coerce.number().int().min(1).optional() }) },
    handler: (request) => ({ data: request.query }),
  });
  app.put('/stashes/:stashID/:serial', {
    schema: { params: z.object({ stashID: z.string().regex(/^[a-z]+$/), serial: z.string() }) },
    handler: (request) => ({ data: request.params }),
  });
  app.get('/text', (_request, reply) => reply.type('application/json; charset=utf-8').send('{"data":4.20}'));
}

function edge(changes = {}): Edge {
  return buildEdge(addRoutes, changes);
}

function failing(thrown: unknown): Edge {
  return buildEdge((app) => {
    app.get('/sync', () => {
      throw thrown;
    });
    app.get('/async', async () => {
      throw thrown;
    });
  });
}

describe('routing', () => {
  test.each([
    ['GET', '/nothing', 404, 'not_found', undefined],
    ['POST', '/', 405, 'method_not_allowed', 'GET, HEAD'],
    ['GET', '/tables/', 404, 'not_found', undefined],
    ['POST', '/tables/a/b/c', 404, 'not_found', undefined],
    ['OPTIONS', '/nothing', 404, 'not_found', undefined],
    ['DELETE', '/tables', 405, 'method_not_allowed', 'GET, POST'],
    ['OPTIONS', '/tables?x=1', 405, 'method_not_allowed', 'GET, POST'],
    ['PROPFIND', '/tables/x/rows', 405, 'method_not_allowed', 'GET, HEAD'],
    ['GET', '/stashes/a/1', 405, 'method_not_allowed', 'PUT'],
    ['GET', '/tables/%zz/rows', 400, 'request_validation_error', undefined],
    ['GET', '/tables/%ff/rows', 400, 'request_validation_error', undefined],
    ['GET', '/nothing/%', 400, 'request_validation_error', undefined],
  ] as const)('%s %s is routed to %i %s', async (method, url, status, type, allow) => {
    const response = await edge().app.inject({ method: method as 'GET', url, headers });
    expect(response.statusCode).toBe(status);
    expect(response.json()).toEqual(errorOf(type));
    expect(response.headers.allow).toBe(allow);
  });

  test('HEAD of a path without it is 405, with no body', async () => {
    const response = await edge().app.inject({ method: 'HEAD', url: '/tables', headers });
    expect([response.statusCode, response.headers.allow, response.body]).toEqual([405, 'GET, POST', '']);
  });

  test('an unknown path and a wrong method are answered without a token', async () => {
    const { app } = edge();
    expect((await app.inject('/nothing')).json()).toEqual(errorOf('not_found'));
    expect((await app.inject({ method: 'PUT', url: '/tables' })).json()).toEqual(errorOf('method_not_allowed'));
  });

  test('an ID may have any length', async () => {
    const url = `/stashes/${'a'.repeat(5_000)}/1`;
    expect((await edge().app.inject({ method: 'PUT', url, headers })).statusCode).toBe(200);
  });

  test('HEAD has the header of its own route', async () => {
    const response = await edge().app.inject({ method: 'HEAD', url: '/tables/x/rows', headers });
    expect([response.statusCode, response.headers.etag, response.body]).toEqual([200, '"7"', '']);
  });

  test('a text is sent unchanged, and numbers as they were written', async () => {
    expect((await edge().app.inject({ url: '/text', headers })).body).toBe('{"data":4.20}');
  });
});

describe('validation', () => {
  test.each([
    ['/tables/x/rows?limit=0', /^query\.limit: /],
    ['/tables/x/rows?limit=x', /^query\.limit: /],
    ['/tables/x/rows?limit=%zz', /^query\.limit: /],
    ['/tables/x/rows?limit=1&limit=2', /^query\.limit: /],
    ['/tables/x/rows?limits=1', /^query\.limits: there is no such query parameter/],
    ['/tables/x/rows?__proto__=1', /^query\.__proto__: /],
    ['/tables?a', /^query\.a: /],
  ])('%s is refused', async (url, message) => {
    const response = await edge().app.inject({ url, headers });
    expect(response.statusCode).toBe(400);
    expect(response.json()).toEqual(errorOf('request_validation_error', expect.stringMatching(message)));
  });

  test('the message names the path parameter', async () => {
    const response = await edge().app.inject({ method: 'PUT', url: '/stashes/_x/1', headers });
    expect(response.json()).toEqual(validationErrorAt('path\\.stashID'));
  });

  test('a valid value is converted', async () => {
    const response = await edge().app.inject({ url: '/tables/x/rows?limit=5', headers });
    expect(response.json()).toEqual({ data: { limit: 5 } });
  });
});

describe('the token', () => {
  const refused = errorOf('request_error', 'The bearer token does not exist or is incorrect.');

  test.each([
    [''],
    ['Bearer'],
    ['Bearer '],
    ['Bearer wrong'],
    ['Basic good-token'],
    ['Bearer good-token x'],
    ['Bearer good-token, Bearer good-token'],
    ['good-token'],
    [['Bearer good-token', 'Bearer good-token']],
  ])('the header %j is refused, with the same body for all', async (value) => {
    const response = await edge().app.inject({ url: '/tables', headers: { authorization: value as string } });
    expect(response.statusCode).toBe(404);
    expect(response.json()).toEqual(refused);
  });

  test('a missing token gets an error that names the header', async () => {
    const response = await edge().app.inject({ url: '/tables' });
    expect(response.statusCode).toBe(404);
    expect(response.json()).toEqual(
      errorOf('request_error', expect.stringMatching(/^The request has no bearer token: .* "Authorization/)),
    );
  });

  test.each(['Bearer good-token', 'bearer good-token', 'BEARER   good-token'])(
    'the token %s is accepted',
    async (value) => {
      const response = await edge().app.inject({ url: '/tables', headers: { authorization: value } });
      expect(response.json()).toEqual({ data: { ...unlimited, teamId: 't1' } });
    },
  );

  test('may be looked up slowly', async () => {
    const { app } = edge({
      authenticate: async (token: string) => (token === 'late' ? { ...unlimited, teamId: 't2' } : null),
    });
    const late = await app.inject({ url: '/tables', headers: { authorization: 'Bearer late' } });
    expect(late.json()).toEqual({ data: { ...unlimited, teamId: 't2' } });
    expect((await app.inject({ url: '/tables', headers })).json()).toEqual(refused);
  });

  test('cannot be looked up while the database is away', async () => {
    const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    for (const authenticate of [
      () => Promise.reject(away),
      () => {
        throw away;
      },
    ]) {
      const response = await edge({ authenticate }).app.inject({ url: '/tables', headers });
      expect(response.statusCode).toBe(503);
      expect(response.json()).toEqual(errorOf('service_unavailable'));
    }
  });
});

describe('an exception', () => {
  const typed = Object.assign(new Error('rows[3].age: broken'), { type: 'request_validation_error' });
  test.each([
    [new HttpError('row_not_found', 'no row'), 404, 'row_not_found', 'no row', undefined],
    [new HttpError('rate_limited', 'slowly', { 'retry-after': '7' }), 429, 'rate_limited', 'slowly', '7'],
    [new HttpError('rate_limited', 'slowly'), 429, 'rate_limited', 'slowly', '1'],
    [typed, 400, 'request_validation_error', 'rows[3].age: broken', undefined],
    [new NotAppended('full'), 503, 'service_unavailable', expect.any(String), '1'],
    [new HttpError('outcome_unknown', 'who knows'), 503, 'outcome_unknown', 'who knows', '1'],
    [Object.assign(new Error('x'), { code: '57P01' }), 503, 'service_unavailable', expect.any(String), '1'],
    [new ProjectionBug('bug'), 500, 'internal_error', expect.any(String), undefined],
    [new Error('secret detail'), 500, 'internal_error', expect.any(String), undefined],
    [Object.assign(new Error('x'), { statusCode: 418 }), 500, 'internal_error', expect.any(String), undefined],
    [Object.assign(new Error('x'), { type: 'toString' }), 500, 'internal_error', expect.any(String), undefined],
  ])('becomes an error of the interface: %s', async (thrown, status, type, message, retryAfter) => {
    const { app } = failing(thrown);
    for (const url of ['/sync', '/async']) {
      const response = await app.inject({ url, headers });
      expect(response.statusCode).toBe(status);
      expect(response.json()).toEqual(errorOf(type, message));
      expect(response.headers['retry-after']).toBe(retryAfter);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  test('that is a bug gives the client only its request ID, and the log the rest', async () => {
    const { app, lines } = failing(new Error('secret detail'));
    const response = await app.inject({ url: '/async', headers });
    const requestId = response.headers['request-id'];
    expect(response.body).not.toContain('secret');
    expect(response.json().error.message).toContain(requestId);
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 50,
        requestId,
        path: '/async',
        err: expect.objectContaining({ message: 'secret detail', stack: expect.any(String) }),
      }),
    );
  });

  test('with an unknown outcome names the job', async () => {
    const { app } = failing(new HttpError('outcome_unknown', 'x', { 'job-id': 'job-1' }));
    expect((await app.inject({ url: '/async', headers })).headers['job-id']).toBe('job-1');
  });

  test('that is no error is a bug too', async () => {
    expect((await failing('text').app.inject({ url: '/async', headers })).json()).toEqual(errorOf('internal_error'));
  });
});

describe('the request log', () => {
  test('has no lines unless it is enabled', async () => {
    const { app, lines } = edge();
    await app.inject({ url: '/tables', headers });
    expect(lines).toEqual([]);
  });

  test('has a line for each answer, without the query and the token', async () => {
    const config = { ...edgeConfig, LOG_REQUESTS: true };
    const { app, lines } = edge({ config });
    await app.inject({ url: '/tables?signature=1', headers });
    const line = { method: 'GET', path: '/tables', status: 400, requestId: expect.any(String) };
    expect(lines).toEqual([expect.objectContaining(line)]);
    expect(JSON.stringify(lines)).not.toMatch(/signature|good-token/);
  });
});

describe('health', () => {
  test('/livez needs no token', async () => {
    const response = await edge().app.inject('/livez');
    expect([response.statusCode, response.json()]).toEqual([200, { data: { status: 'ok' } }]);
  });

  test('/readyz names what is missing', async () => {
    expect((await edge().app.inject('/readyz')).statusCode).toBe(200);
    const { app } = edge({
      checkHealth: async () => ({ notReady: ['Postgres is away.', 'The log is behind.'], problems: [] }),
    });
    const response = await app.inject('/readyz');
    expect(response.statusCode).toBe(503);
    expect(response.json()).toEqual(errorOf('service_unavailable', 'Postgres is away. The log is behind.'));
  });
});
