import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { App } from '../../../../src/api/http/server/app-type.ts';
import { metricsRoute, serveMetrics } from '../../../../src/api/http/service/metrics.ts';
import { HttpError } from '../../../../src/api/http/answers/http-error.ts';
import { AppendUnknown, ProjectionBug } from '../../../../src/log/event-log.ts';
import { Metrics } from '../../../../src/operations/metrics/metrics.ts';
import { labelValues, parseMetrics, sumOf, type Sample } from '../../../support/metrics.ts';
import {
  authorization,
  buildEdge,
  edgeConfig,
  errorOf,
  listen,
  RawClient,
  requestText,
  type Edge,
} from './server/edge-app.ts';

const durations = 'tablog_http_request_duration_seconds_count';

interface Observed extends Edge {
  readonly port: number;
  /** Asks with the token, over a connection: an answer is complete when the connection has taken it. */
  ask(path: string, request?: RequestInit): Promise<Response>;
  scrape(): Promise<Sample[]>;
}

async function observed(changes = {}): Promise<Observed> {
  const metrics = new Metrics();
  const edge = buildEdge(
    (app) => {
      app.route(metricsRoute(metrics));
      addRoutes(app);
    },
    { observer: metrics.requests, ...changes },
  );
  const port = await listen(edge.app);
  const ask = async (path: string, request = {}): Promise<Response> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization }, ...request });
    await response.clone().text();
    return response;
  };
  return { ...edge, port, ask, scrape: async () => parseMetrics(await (await ask('/metrics')).text()) };
}

function addRoutes(app: App): void {
  app.get('/tables/:tableID/rows/:rowID', () => ({ data: {} }));
  app.delete('/tables/:tableID', (_request, reply) => reply.code(204).send());
  app.get('/never', () => new Promise(() => {}));
  app.get('/unknown', () => {
    const cause = new AppendUnknown('x').at({ partition: 3, offset: 70n });
    throw new HttpError('outcome_unknown', 'who knows', {}, { cause });
  });
  app.get('/bug', () => {
    throw new ProjectionBug('a bug').at({ partition: 4 });
  });
}

const logged = { ...edgeConfig, LOG_REQUESTS: true, DRAIN_TIMEOUT_MS: 0 };

describe('/metrics', () => {
  test('needs no token, and has the media type that Prometheus reads', async () => {
    const { ask } = await observed();
    const response = await ask('/metrics', { headers: {} });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
  });

  test('names routes by their pattern', async () => {
    const { ask, scrape } = await observed();
    for (const path of ['/tables/a/rows/b', '/tables/c/rows/d', '/tables/c/rows/d?x=1']) await ask(path);
    await ask('/tables/a', { method: 'DELETE' });
    await ask('/tables/a/rows/b', { headers: {} });
    const samples = await scrape();
    const row = { method: 'GET', route: '/tables/:tableID/rows/:rowID' };
    expect(sumOf(samples, durations, { ...row, status: '200' })).toBe(2);
    expect(sumOf(samples, durations, { ...row, status: '400' })).toBe(1);
    expect(sumOf(samples, durations, { ...row, status: '404' })).toBe(1);
    expect(sumOf(samples, durations, { method: 'DELETE', route: '/tables/:tableID', status: '204' })).toBe(1);
  });

  test('does not grow with names that clients invent', async () => {
    const { ask, scrape } = await observed();
    const paths = ['/nothing', '/tables/a/rows/b/c', '/tables/%zz/rows/x', '/.env', '/tables/a'];
    for (const path of paths) await ask(path);
    await ask('/tables/a', { method: 'PROPFIND' });
    const samples = await scrape();
    expect(labelValues(samples, durations, 'route')).toEqual(['none']);
    expect(labelValues(samples, durations, 'method')).toEqual(['GET', 'other']);
    expect(labelValues(samples, durations, 'status')).toEqual(['400', '404', '405']);
    expect(sumOf(samples, durations)).toBe(paths.length + 1);
  });

  test('counts only itself as in flight when all others are answered', async () => {
    const { ask, scrape } = await observed();
    for (const path of ['/nothing', '/tables/a/rows/b', '/unknown', '/tables/%zz']) await ask(path);
    expect(sumOf(await scrape(), 'tablog_http_requests_in_flight')).toBe(1);
  });

  test('counts requests whose client disconnected', async () => {
    const { app, port, lines, scrape } = await observed({ config: logged });
    const client = await RawClient.open(port);
    const requested = once(app.server, 'request');
    client.send(requestText('GET /never'));
    const [, response] = await requested;
    client.socket.destroy();
    await once(response, 'close');
    const samples = await scrape();
    expect(sumOf(samples, durations, { route: '/never', status: 'cut_off' })).toBe(1);
    expect(sumOf(samples, 'tablog_http_requests_in_flight')).toBe(1);
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'request cut off', path: '/never', teamId: 't1' }));
  });
});

describe('on a port of its own', () => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  test('serves the metrics and the probes, and nothing else', async () => {
    const metrics = new Metrics();
    metrics.log.tookOver();
    const ports: number[] = [];
    const log = pino({ level: 'info' }, { write: (line: string) => ports.push(JSON.parse(line).port) });
    closing.push(
      await serveMetrics(
        metrics,
        () => ({ notReady: ['It starts.'], problems: [] }),
        { host: '127.0.0.1', port: 0 },
        log,
      ),
    );
    const url = `http://127.0.0.1:${ports[0]}`;
    const samples = parseMetrics(await (await fetch(`${url}/metrics`)).text());
    expect(sumOf(samples, 'tablog_partition_takeovers_total')).toBe(1);
    for (const path of ['/', '/tables']) expect((await fetch(`${url}${path}`)).status).toBe(404);
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, errorOf('service_unavailable', 'It starts.')]);
  });
});

describe('the log says of a request', () => {
  test('shows its team and its duration', async () => {
    const { ask, lines } = await observed({ config: logged });
    await ask('/tables/a/rows/b');
    await ask('/livez', { headers: {} });
    // Its own line comes after it; those before are there by then.
    await ask('/metrics');
    const answered = lines.filter(({ msg }) => msg === 'request answered');
    const line = {
      level: 30,
      requestId: expect.any(String),
      method: 'GET',
      status: 200,
      durationMs: expect.any(Number),
    };
    expect(answered.slice(0, 2)).toEqual([
      expect.objectContaining({ ...line, teamId: 't1', path: '/tables/a/rows/b' }),
      expect.objectContaining({ ...line, path: '/livez' }),
    ]);
    expect(answered[1]).not.toHaveProperty('teamId');
  });

  test.each([
    ['/unknown', 40, 503, { partition: 3, offset: '70', err: expect.objectContaining({ type: 'HttpError' }) }],
    ['/bug', 50, 500, { partition: 4, err: expect.objectContaining({ type: 'ProjectionBug' }) }],
  ])('%s where in the log it failed', async (path, level, status, details) => {
    const { ask, lines } = await observed();
    const response = await ask(path);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual(errorOf(status === 503 ? 'outcome_unknown' : 'internal_error'));
    const requestId = response.headers.get('request-id');
    expect(lines).toContainEqual(
      expect.objectContaining({ level, requestId, teamId: 't1', method: 'GET', path, ...details }),
    );
  });
});
