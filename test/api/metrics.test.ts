/** `/metrics` of each process, whatever its role. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { deploymentKind } from '../support/deployment-kind.ts';
import { labelValues, parseMetrics, sumOf, type Sample } from '../support/metrics.ts';
import { useOwnApi, type Api } from '../support/api.ts';
import { fetchChecked } from '../support/interface-document.ts';
import { sleepUntil } from '../support/server.ts';
import { expressionsOf, metricsIn, readAlerts, readPanels } from '../support/watching.ts';

const partitions = Array.from({ length: 12 }, (_, partition) => String(partition)).toSorted();

interface Scraped {
  readonly role: string;
  readonly samples: readonly Sample[];
}

async function scrape(api: Api): Promise<Scraped[]> {
  return Promise.all(
    api.processes.map(async ({ role, url }) => {
      const { status, text } = await fetchChecked(url, '/metrics');
      expect(status).toBe(200);
      return { role, samples: parseMetrics(text) };
    }),
  );
}

function total(scraped: readonly Scraped[], name: string, labels?: Sample['labels']): number {
  return scraped.reduce((sum, { samples }) => sum + (sumOf(samples, name, labels) ?? 0), 0);
}

const { api, client } = useOwnApi();

describe('after some requests', () => {
  const patches = 20;
  let before: Scraped[];
  let after: Scraped[];
  beforeAll(async () => {
    // A projector counts an event a moment after its outcome is known: those of the set-up must be counted.
    await sleepUntil(async () => {
      before = await scrape(api());
      await sleep(300);
      return (
        total(await scrape(api()), 'tablog_projection_batch_events_sum') ===
        total(before, 'tablog_projection_batch_events_sum')
      );
    }, 'all that was there before is counted');
    const created = await client().post('/tables', { name: 'measured', rows: [{ a: 1 }] });
    const { tableID, rowIDs } = created.json.data;
    const path = `/tables/${tableID}/rows/${rowIDs[0]}`;
    await Promise.all(Array.from({ length: patches }, (_, a) => client().patch(path, { a })));
    await client().patch(path, { b: 1 }, { 'if-match': '"1"' });
    await client().get(path);
    await client().get(`/nothing/${randomUUID()}`);
    await sleepUntil(async () => {
      after = await scrape(api());
      const waiting = ['tablog_projection_lag_events', 'tablog_log_queue_events', 'tablog_log_queue_bytes'];
      return waiting.every((name) => total(after, name) === 0);
    }, 'all is acknowledged and projected');
  });
  const grown = (name: string, labels?: Sample['labels']): number =>
    total(after, name, labels) - total(before, name, labels);

  test.each([
    [{ method: 'POST', route: '/tables', status: '201' }, 1],
    [{ method: 'PATCH', route: '/tables/:tableID/rows/:rowID', status: '200' }, patches],
    [{ method: 'PATCH', route: '/tables/:tableID/rows/:rowID', status: '412' }, 1],
    [{ method: 'GET', route: '/tables/:tableID/rows/:rowID', status: '200' }, 1],
    [{ method: 'GET', route: 'none', status: '404' }, 1],
  ])('requests of %j are counted: %i', (labels, count) => {
    expect(grown('tablog_http_request_duration_seconds_count', labels)).toBe(count);
    expect(grown('tablog_http_request_duration_seconds_sum', labels)).toBeGreaterThan(0);
  });

  test('each event was appended, projected and settled once', () => {
    const events = patches + 2;
    expect(grown('tablog_log_append_duration_seconds_count')).toBe(events);
    expect(grown('tablog_log_outcome_duration_seconds_count')).toBe(events);
    expect(grown('tablog_log_append_batch_events_sum')).toBe(events);
    expect(grown('tablog_projection_batch_events_sum')).toBe(events);
    expect(grown('tablog_log_append_duration_seconds_sum')).toBeGreaterThan(0);
    expect(grown('tablog_log_outcome_duration_seconds_sum')).toBeGreaterThan(0);
  });

  test('no request was refused or failed, no partition has halted, and Postgres and the log can be reached', () => {
    expect(total(after, 'tablog_log_appends_refused_total')).toBe(0);
    expect(total(after, 'tablog_log_appends_failed_total')).toBe(0);
    expect(total(after, 'tablog_partition_halted')).toBe(0);
    for (const { samples } of after) {
      expect(sumOf(samples, 'tablog_postgres_reachable')).toBe(1);
      expect(sumOf(samples, 'tablog_kafka_reachable')).toBe(deploymentKind === 'postgres' ? undefined : 1);
      expect(labelValues(samples, 'tablog_partition_halted', 'partition')).toEqual(partitions);
      expect(sumOf(samples, 'tablog_http_requests_in_flight')).toBe(1);
      expect(sumOf(samples, 'process_resident_memory_bytes')).toBeGreaterThan(0);
      expect(sumOf(samples, 'nodejs_eventloop_lag_p99_seconds')).toBeDefined();
    }
  });

  test('each partition is projected by exactly one process', () => {
    if (deploymentKind === 'postgres') {
      expect(after.map(({ samples }) => sumOf(samples, 'tablog_partition_owned'))).toEqual([undefined]);
      return;
    }
    for (const partition of partitions) expect(total(after, 'tablog_partition_owned', { partition })).toBe(1);
    for (const { role, samples } of after) {
      expect(labelValues(samples, 'tablog_projection_lag_events', 'partition')).toEqual(partitions);
      const projects = role !== 'api';
      expect(sumOf(samples, 'tablog_partition_owned')! > 0).toBe(projects);
      expect(sumOf(samples, 'tablog_partition_takeovers_total')! > 0).toBe(projects);
      if (!projects) expect(sumOf(samples, 'tablog_projection_batch_events_count')).toBe(0);
    }
    // One of two projectors may have had nothing to do.
    expect(total(after, 'tablog_projection_batch_events_count')).toBeGreaterThan(0);
  });
});

describe('deploy/', () => {
  test('alerts and dashboard name only metrics that the service exposes', async () => {
    const texts = await Promise.all(api().processes.map(async ({ url }) => (await fetchChecked(url, '/metrics')).text));
    const exposed = new Set(
      texts.flatMap((text) =>
        [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, type]) => {
          return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
        }),
      ),
    );
    const named = metricsIn([...readAlerts().map(({ expr }) => expr), ...expressionsOf(readPanels())]);
    expect(named.length).toBeGreaterThan(30);
    const withKafkaOnly = ['tablog_kafka_reachable', 'tablog_partition_owned', 'tablog_projection_lag_events'];
    expect(named.filter((name) => !exposed.has(name))).toEqual(deploymentKind === 'postgres' ? withKafkaOnly : []);
    // Conversely, these metrics are in no alert and no panel: the sizes of batches, the number of copies, and the
    // bounds of their processes.
    const shown = new Set(named.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    const hidden = [...exposed].filter(
      (name) => name!.startsWith('tablog_') && !shown.has(name!.replace(/_(bucket|sum|count)$/, '')),
    );
    expect(hidden).toEqual(['tablog_query_copies', 'tablog_query_engine_memory_bounds']);
  });
});

describe('with a port of its own', () => {
  const { api: own } = useOwnApi({ METRICS_PORT: '0', LOG_LEVEL: 'info' });

  test('/metrics is on that port, and no longer among the routes of the service', async () => {
    const outputs = await own().outputs();
    for (const [at, { url }] of own().processes.entries()) {
      expect((await fetchChecked(url, '/metrics')).status).toBe(404);
      const [, port] = /"port":(\d+),"msg":"serving metrics on a separate port"/.exec(outputs[at]!)!;
      const response = await fetch(`http://127.0.0.1:${port}/metrics`);
      const samples = parseMetrics(await response.text());
      expect(sumOf(samples, 'tablog_postgres_reachable')).toBe(1);
      expect(labelValues(samples, 'tablog_http_request_duration_seconds_count', 'route')).toContain('/readyz');
    }
  });
});
