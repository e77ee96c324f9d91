/**
 * A real Prometheus with the alerts of deploy/ watches a real service: while it is healthy, with a bug in its
 * projection, and when it has ended.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts';
import { plantTableFault } from '../../faults/quarantined-team.ts';
import { Client } from '../../support/client.ts';
import { startPrometheus, type ActiveAlert, type Prometheus } from '../../support/prometheus.ts';
import { sleepUntil, startServer, type TestServer } from '../../support/server.ts';
import { expressionsOf, readAlerts, readPanels } from '../../support/watching.ts';

const resources = new AsyncDisposableStack();
let databaseUrl: string;
let server: TestServer;
let client: Client;
let prometheus: Prometheus;

beforeAll(async () => {
  const folder = resources.adopt(await mkdtemp(join(tmpdir(), 'tablog-watching-')), (made) =>
    rm(made, { recursive: true, force: true }),
  );
  const postgres = resources.adopt(await startEmbeddedPostgres({ folder, log: () => undefined }), async (started) => {
    await started.stop();
  });
  databaseUrl = postgres.url;
  // Maintenance has nothing to do, and reports that.
  server = resources.adopt(
    await startServer({ databaseUrl, environment: { MAINTENANCE_INTERVAL_MS: '500', RATE_LIMIT_REFUSALS: '1' } }),
    async (started) => {
      await started.stop();
    },
  );
  client = new Client(server.url, await server.token());
  prometheus = resources.adopt(await startPrometheus([new URL(server.url).host]), (started) => started.stop());
});

afterAll(() => resources.disposeAsync());

/** Sends requests of each kind that an alert or a panel shows, so that each has a rate. */
async function use(): Promise<void> {
  const { json } = await client.post('/tables', { name: 'cars', rows: [{ power: 1 }] });
  const {
    tableID,
    rowIDs: [row],
  } = json.data;
  for (let power = 0; power < 20; power += 1) {
    await client.patch(`/tables/${tableID}/rows/${row}`, { power });
    await client.get(`/tables/${tableID}/rows/${row}`);
  }
}

/** Resolves once Prometheus has scraped the present values, and then evaluated the rules. */
async function evaluated(): Promise<void> {
  const from = Date.now();
  await sleepUntil(async () => (await prometheus.evaluatedAt()) > from + 4000, 'the rules are evaluated');
}

async function firing(): Promise<ReadonlyMap<string, ActiveAlert>> {
  const alerts = await prometheus.alerts();
  return new Map(alerts.filter(({ state }) => state === 'firing').map((alert) => [alert.labels['alertname']!, alert]));
}

/**
 * Waits until these alerts fire, and returns them. Repeats `cause`, because the first answer of a kind makes no rate.
 */
async function untilFiring(
  names: readonly string[],
  cause: () => Promise<void> = async () => undefined,
): Promise<ReadonlyMap<string, ActiveAlert>> {
  let found: ReadonlyMap<string, ActiveAlert> = new Map();
  await sleepUntil(
    async () => {
      await cause();
      found = await firing();
      return names.every((name) => found.has(name));
    },
    `${names.join(', ')} fire`,
  );
  return new Map(names.map((name) => [name, found.get(name)!]));
}

/** An alert as it must fire: with its severity and its runbook. */
function expectedOf(name: string, labels: Readonly<Record<string, string>>): object {
  const {
    labels: { severity },
    annotations: { runbook },
  } = readAlerts().find(({ alert }) => alert === name)!;
  return expect.objectContaining({
    labels: { alertname: name, severity, job: 'tablog', ...labels },
    annotations: { runbook, summary: expect.stringMatching(/^[^{}]+\.$/) },
  });
}

/** Metrics without a value here: those of a log in Kafka, and failures. */
const withKafkaOnly = /tablog_(kafka_reachable|projection_lag_events|partition_owned)/;
const failures = /tablog_maintenance_failures_total/;

describe('a healthy service', () => {
  beforeAll(async () => {
    // A rate needs an earlier and a later value.
    await sleepUntil(async () => (await prometheus.query('up')).length > 0, 'the service is scraped');
    await use();
    await evaluated();
  });

  test('is scraped as docs/reference/metrics.md says, without a token', async () => {
    await sleepUntil(
      async () => (await prometheus.targets()).every(({ health }) => health === 'up'),
      'a scrape comes in time',
    );
    expect(await prometheus.targets()).toEqual([
      expect.objectContaining({ health: 'up', lastError: '', labels: expect.objectContaining({ job: 'tablog' }) }),
    ]);
  });

  test('raises no alarm, except those for a slow or full machine', async () => {
    const ofMachine = new Set([
      'TablogReadsSlow',
      'TablogAppendsSlow',
      'TablogWritesSlow',
      'TablogProcessOverloaded',
      'TablogDiskLow',
    ]);
    expect([...(await firing()).keys()].filter((name) => !ofMachine.has(name))).toEqual([]);
  });

  test.each(readAlerts().map(({ alert, expr }) => ({ alert, expr })))(
    'exposes the metrics of $alert',
    async ({ expr }) => {
      for (const compared of expr.split(/ (?:or|and) /)) {
        const [, what] = /^(.+) (?:==|<|>|>=) [\d.]+$/.exec(compared)!;
        // There was no 5xx.
        const query = what!.replace('{status=~"5.."}', '');
        if (withKafkaOnly.test(what!)) expect(await prometheus.query(query)).toEqual([]);
        // While a scrape is late, there is no value.
        else await sleepUntil(async () => (await prometheus.query(query)).length > 0, `${query} has a value`);
      }
    },
  );

  test.each(readPanels())('fills the panel "$title"', async (panel) => {
    for (const expression of expressionsOf([panel])) {
      const numbers = async (): Promise<readonly unknown[]> => {
        const found = await prometheus.query(
          expression.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'tablog'),
        );
        return found.filter(({ value: [, text] }) => text !== 'NaN');
      };
      if (withKafkaOnly.test(expression) || failures.test(expression)) expect(await numbers()).toEqual([]);
      else await sleepUntil(async () => (await numbers()).length > 0, `${expression} has a value`);
    }
  });
});

test('a bug in the projection and a client with a wrong token raise alarms, each with its runbook', async () => {
  const { team } = (await client.get('/token')).json.data;
  await plantTableFault(databaseUrl, 'tables', team.id);
  const names = ['TablogAppendsFailedByBug', 'TablogServerErrors', 'TablogTokensRefused'];
  const alerts = await untilFiring(names, async () => {
    expect((await client.post('/tables', { name: 'never', rows: [] })).status).toBe(500);
    expect([404, 429]).toContain(
      (await fetch(`${server.url}/token`, { headers: { authorization: `Bearer ${client.token.slice(0, -1)}` } }))
        .status,
    );
    await sleep(500);
  });
  expect([...alerts.values()]).toEqual(names.map((name) => expectedOf(name, {})));
});

test('a process that has ended raises an alarm with its address', async () => {
  await server.stop('SIGKILL');
  const alerts = await untilFiring(['TablogProcessDown']);
  expect([...alerts.values()]).toEqual([expectedOf('TablogProcessDown', { instance: new URL(server.url).host })]);
  // Reset, if the process ended while it was scraped.
  expect(await prometheus.targets()).toEqual([
    expect.objectContaining({ health: 'down', lastError: expect.stringMatching(/connection (refused|reset)/) }),
  ]);
});
