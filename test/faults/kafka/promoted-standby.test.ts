/**
 * The primary of Postgres is killed under load, and a standby is promoted that lacks its last commits. The log in Kafka
 * has everything that was acknowledged. So nothing is lost, and nobody reads less than was acknowledged before.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../../projections/models.ts';
import { scale } from '../../scale.ts';
import type { Client } from '../../support/client.ts';
import { sleepUntil } from '../../support/server.ts';
import { limitMs } from '../../support/time-limits.ts';
import { PersistentClient } from '../persistent-client.ts';
import { Supervisor } from '../supervisor.ts';
import { survive } from '../survive.ts';
import { KafkaDeployment } from './kafka-deployment.ts';

let deployment: KafkaDeployment;
let supervisor: Supervisor;

afterEach(async () => {
  await supervisor.end();
  expect(await deployment.stop()).toEqual(deployment.places.map(() => 0));
});

/** How many events are projected, in all partitions. */
async function projectedEvents(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return Number((await client.query(`select sum(next) as events from ${readModelSchema}.progress`)).rows[0].events);
  } finally {
    await client.end();
  }
}

/** Creates tables through one process and lists them through all. Collects the tables that are missing in lists. */
class ListedTables {
  readonly problems: string[] = [];
  readonly #made: string[] = [];
  #goesOn = true;
  readonly #working: Promise<unknown>;

  constructor(clients: readonly Client[]) {
    this.#working = Promise.all([this.#make(clients[0]!), ...clients.map((client) => this.#list(client))]);
  }

  /** How many tables were acknowledged. */
  get made(): number {
    return this.#made.length;
  }

  async end(): Promise<void> {
    this.#goesOn = false;
    await this.#working;
  }

  async #make(client: Client): Promise<void> {
    const persistent = new PersistentClient([client], () => 0);
    for (let n = 1; this.#goesOn; n += 1) {
      const name = `listed ${n}`;
      const answer = await persistent.ask('/tables', { method: 'POST', body: { name, rows: [{ value: name }] } });
      if (answer?.status === 201) this.#made.push(name);
      await sleep(100);
    }
  }

  async #list(client: Client): Promise<void> {
    const persistent = new PersistentClient([client], () => 0);
    while (this.#goesOn) {
      const made = [...this.#made];
      const answer = await persistent.ask('/tables', {});
      if (answer?.status === 200) {
        const listed = new Set(answer.json.data.map(({ name }: { name: string }) => name));
        const missing = made.filter((name) => !listed.has(name));
        if (missing.length > 0)
          this.problems.push(
            `${client.url} lists ${listed.size} tables, without ${missing.length} that were made before`,
          );
      }
      await sleep(10);
    }
  }
}

test.each(Array.from({ length: scale.promotions }, (_, at) => at + 1))(
  'no acknowledged write is lost when a standby without the last commits is promoted (round %i)',
  async () => {
    supervisor = new Supervisor();
    deployment = await KafkaDeployment.start({ hasStandby: true });
    const clients = await deployment.clients();
    supervisor.watch(deployment.places);
    const tables = new ListedTables(clients);
    await survive({ clients, verify: () => deployment.verify(), recoveryMs: 60_000 }, async (random) => {
      await sleep(500 + random() * 1500);
      deployment.standby!.cutReplication();
      const kept = await projectedEvents(deployment.standby!.url);
      await sleepUntil(
        async () => (await projectedEvents(deployment.environment['DATABASE_URL']!)) > kept + 100,
        '100 events are lost',
      );
      await deployment.failOver();
      await sleepUntil(() => supervisor.endings.length === deployment.places.length, 'the processes have ended');
      await deployment.untilReady();
      await sleep(500 + random() * 500);
      await tables.end();
    });
    expect(tables.made).toBeGreaterThan(0);
    expect(tables.problems).toEqual([]);
    expect(supervisor.endings).toEqual([1, 1, 1, 1]);
  },
  limitMs(400_000),
);
