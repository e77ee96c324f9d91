import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { HaltCause, LogStatus } from '../../../../src/log/event-log.ts';
import { appendFailures, refusalReasons, type LogObserver } from '../../../../src/log/log-observer.ts';
import { planRefusal, settingRefusal } from '../../../../src/language/events/quota.ts';
import { addDiskMetrics } from '../../../../src/operations/metrics/disk-metrics.ts';
import { addFillMetrics } from '../../../../src/operations/metrics/fill-metrics.ts';
import { Metrics } from '../../../../src/operations/metrics/metrics.ts';
import { addQueryMetrics } from '../../../../src/operations/metrics/query-metrics.ts';
import { addQuotaMetrics } from '../../../../src/operations/metrics/quota-metrics.ts';
import { addStatusMetrics } from '../../../../src/operations/metrics/status-metrics.ts';
import { labelValues, parseMetrics, sumOf, type Sample } from '../../../support/metrics.ts';

async function scrape(metrics: Metrics): Promise<Sample[]> {
  return parseMetrics(await metrics.scrape());
}

test('docs/reference/metrics.md has a line for each metric, and no other', async () => {
  const metrics = new Metrics();
  const kafka = { isReachable: true, lag: [], owned: [] };
  const status = { queuedEvents: 0, queuedBytes: 0, oldestAppendMs: [], halts: [], quarantinedTeams: 0, kafka };
  metrics.add((registry) => {
    addStatusMetrics(registry, { log: { status: () => status }, askPostgres: () => Promise.resolve() });
    addQuotaMetrics(registry, () => Promise.resolve([]));
    addQueryMetrics(registry, { states: () => Promise.resolve([]) });
    addFillMetrics(registry, { eventsLeft: 0, secondsLeft: 0, look: () => Promise.resolve() });
    addDiskMetrics(registry, { free: () => Promise.resolve(new Map()) });
  });
  const given = [...(await metrics.scrape()).matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const document = await readFile(join(import.meta.dirname, '../../../../docs/reference/metrics.md'), 'utf8');
  const described = [...document.matchAll(/^\| `(\w+)` +\| (\w+) +\|/gm)].map(([, name, type]) => `${name} ${type}`);
  expect(described.toSorted()).toEqual(given.toSorted());
});

describe('metrics of the log', () => {
  const seconds = 0.004;
  test.each<[keyof LogObserver, (log: LogObserver) => void, string, Sample['labels'], number]>([
    ['appended', (log) => log.appended(4), 'tablog_log_append_duration_seconds_sum', {}, seconds],
    ['appended', (log) => log.appended(4), 'tablog_log_append_duration_seconds_bucket', { le: '0.005' }, 1],
    ['appended', (log) => log.appended(4), 'tablog_log_append_duration_seconds_bucket', { le: '0.0025' }, 0],
    ['settled', (log) => log.settled(4), 'tablog_log_outcome_duration_seconds_sum', {}, seconds],
    ['settled', (log) => log.settled(7000), 'tablog_log_outcome_duration_seconds_bucket', { le: '5' }, 0],
    ['settled', (log) => log.settled(7000), 'tablog_log_outcome_duration_seconds_bucket', { le: '+Inf' }, 1],
    ['batchAppended', (log) => log.batchAppended(40), 'tablog_log_append_batch_events_sum', {}, 40],
    ['batchAppended', (log) => log.batchAppended(500), 'tablog_log_append_batch_events_bucket', { le: '500' }, 1],
    ['batchProjected', (log) => log.batchProjected(40), 'tablog_projection_batch_events_sum', {}, 40],
    ['refused', (log) => log.refused('halted'), 'tablog_log_appends_refused_total', { reason: 'halted' }, 1],
    ['failed', (log) => log.failed('bug'), 'tablog_log_appends_failed_total', { reason: 'bug' }, 1],
    ['tookOver', (log) => log.tookOver(), 'tablog_partition_takeovers_total', {}, 1],
  ])('the log tells the metrics: %s', async (_method, tell, name, labels, value) => {
    const metrics = new Metrics();
    tell(metrics.log);
    expect(sumOf(await scrape(metrics), name, labels)).toBeCloseTo(value);
  });

  test('every reason has its counter from the start', async () => {
    const samples = await scrape(new Metrics());
    expect(labelValues(samples, 'tablog_log_appends_refused_total', 'reason')).toEqual([...refusalReasons].toSorted());
    expect(labelValues(samples, 'tablog_log_appends_failed_total', 'reason')).toEqual([...appendFailures].toSorted());
  });
});

describe('metrics of requests', () => {
  const route = '/tables/:tableID';
  test.each([
    ['GET', route, 200, { method: 'GET', route, status: '200' }],
    ['PATCH', route, 412, { method: 'PATCH', route, status: '412' }],
    ['GET', null, 404, { method: 'GET', route: 'none', status: '404' }],
    ['PROPFIND', null, 405, { method: 'other', route: 'none', status: '405' }],
    ['POST', route, null, { method: 'POST', route, status: 'cut_off' }],
  ] as const)('%s %s %s is counted with its labels', async (method, pattern, status, labels) => {
    const { requests, ...metrics } = pick(new Metrics());
    for (const ms of [3, 30]) {
      requests.began();
      requests.ended(method, pattern, status, ms);
    }
    const samples = await metrics.scrape();
    const name = 'tablog_http_request_duration_seconds';
    expect(sumOf(samples, `${name}_count`, labels)).toBe(2);
    expect(sumOf(samples, `${name}_count`)).toBe(2);
    expect(sumOf(samples, `${name}_sum`, labels)).toBeCloseTo(0.033);
    expect(sumOf(samples, `${name}_bucket`, { ...labels, le: '0.005' })).toBe(1);
  });

  test('methods that clients invent share a label', async () => {
    const { requests, scrape } = pick(new Metrics());
    for (const method of ['PROPFIND', 'LOCK', 'GET']) requests.ended(method, null, 404, 1);
    expect(labelValues(await scrape(), 'tablog_http_request_duration_seconds_count', 'method')).toEqual([
      'GET',
      'other',
    ]);
  });

  test('requests beyond a limit are counted, from the start', async () => {
    const { requests, scrape } = pick(new Metrics());
    requests.rateLimited('rows');
    const samples = await scrape();
    const of = (limit: string) => sumOf(samples, 'tablog_http_requests_rate_limited_total', { limit });
    expect([of('requests'), of('rows')]).toEqual([0, 1]);
  });

  test('requests beyond a quota are counted, from the start', async () => {
    const { requests, scrape } = pick(new Metrics());
    requests.refused({ type: 'limit_exceeded', message: settingRefusal('openUploads', 5, 5) });
    requests.refused({ type: 'payment_required', message: planRefusal('openUploads', 5, 5) });
    requests.refused({ type: 'payment_required', message: 'the team is suspended' });
    const samples = await scrape();
    const of = (quota: string) => sumOf(samples, 'tablog_quota_refusals_total', { quota });
    expect([of('open_uploads'), of('tables')]).toEqual([2, 0]);
  });

  test('requests in flight are counted', async () => {
    const { requests, scrape } = pick(new Metrics());
    for (let n = 0; n < 3; n += 1) requests.began();
    requests.ended('GET', route, null, 1);
    expect(sumOf(await scrape(), 'tablog_http_requests_in_flight')).toBe(2);
  });
});

function pick(metrics: Metrics): { readonly requests: Metrics['requests']; readonly scrape: () => Promise<Sample[]> } {
  return { requests: metrics.requests, scrape: () => scrape(metrics) };
}

describe('metrics that are read from the service', () => {
  const onPostgres: LogStatus = {
    queuedEvents: 3,
    queuedBytes: 500,
    oldestAppendMs: [0, 41_500],
    halts: [null, 'not_projectable'],
    quarantinedTeams: 2,
    kafka: null,
  };
  const onKafka: LogStatus = { ...onPostgres, kafka: { isReachable: false, lag: [0, 70], owned: [true, false] } };
  const answers = () => Promise.resolve();

  test.each<[string, LogStatus, () => Promise<unknown>, Record<string, number | undefined>]>([
    [
      'on Postgres',
      onPostgres,
      answers,
      {
        tablog_postgres_reachable: 1,
        tablog_log_queue_events: 3,
        tablog_log_queue_bytes: 500,
        tablog_log_oldest_append_seconds: 41.5,
        tablog_partition_halted: 1,
        tablog_quarantined_teams: 2,
        tablog_kafka_reachable: undefined,
        tablog_projection_lag_events: undefined,
        tablog_partition_owned: undefined,
      },
    ],
    [
      'on Kafka',
      onKafka,
      answers,
      {
        tablog_postgres_reachable: 1,
        tablog_kafka_reachable: 0,
        tablog_projection_lag_events: 70,
        tablog_partition_owned: 1,
      },
    ],
    ['without Postgres', onPostgres, () => Promise.reject(new Error('away')), { tablog_postgres_reachable: 0 }],
    ['while Postgres hangs', onPostgres, () => new Promise(() => {}), { tablog_postgres_reachable: 0 }],
  ])('the service is asked at each scrape: %s', async (_name, status, askPostgres, values) => {
    const metrics = new Metrics();
    metrics.add((registry) => addStatusMetrics(registry, { log: { status: () => status }, askPostgres }));
    const samples = await scrape(metrics);
    expect(Object.fromEntries(Object.keys(values).map((name) => [name, sumOf(samples, name)]))).toEqual(values);
  });

  test('are read at each scrape, and by partition', async () => {
    const metrics = new Metrics();
    let status = onKafka;
    metrics.add((registry) => addStatusMetrics(registry, { log: { status: () => status }, askPostgres: answers }));
    await metrics.scrape();
    status = {
      ...onKafka,
      halts: ['records_lost', null],
      kafka: { isReachable: true, lag: [5, 0], owned: [false, true] },
    };
    const samples = await scrape(metrics);
    for (const [name, first, second] of [
      ['tablog_partition_halted', 1, 0],
      ['tablog_projection_lag_events', 5, 0],
      ['tablog_partition_owned', 0, 1],
    ] as const) {
      expect([sumOf(samples, name, { partition: '0' }), sumOf(samples, name, { partition: '1' })]).toEqual([
        first,
        second,
      ]);
    }
    const halt = (cause: HaltCause): number | undefined =>
      sumOf(samples, 'tablog_partition_halted', { partition: '0', cause });
    expect([halt('records_lost'), halt('not_projectable')]).toEqual([1, 0]);
    expect(sumOf(samples, 'tablog_kafka_reachable')).toBe(1);
  });
});

describe('the use of a quota', () => {
  const use = [{ quota: 'openUploads', allTeams: 70, largestTeam: 40 }] as const;
  const shown = async (ask: Parameters<typeof addQuotaMetrics>[1]): Promise<(number | undefined)[]> => {
    const metrics = new Metrics();
    metrics.add((registry) => addQuotaMetrics(registry, ask));
    const samples = await scrape(metrics);
    return ['all', 'largest'].map((teams) => sumOf(samples, 'tablog_quota_used', { quota: 'open_uploads', teams }));
  };

  test('is shown for all teams together and for the largest', async () =>
    expect(await shown(() => Promise.resolve(use))).toEqual([70, 40]));

  test.each<[string, () => Promise<never>]>([
    ['is away', () => Promise.reject(new Error('away'))],
    ['hangs', () => new Promise(() => {})],
  ])('is not said while Postgres %s', async (_name, ask) => expect(await shown(ask)).toEqual([undefined, undefined]));

  test('is read once for scrapes in quick succession, and again after a failure', async () => {
    const metrics = new Metrics();
    let asked = 0;
    const ask = (): Promise<typeof use> => {
      asked += 1;
      return asked === 1 ? Promise.reject(new Error('away')) : Promise.resolve(use);
    };
    metrics.add((registry) => addQuotaMetrics(registry, ask));
    for (let scrapes = 0; scrapes < 4; scrapes += 1) await metrics.scrape();
    expect(asked).toBe(2);
  });
});
