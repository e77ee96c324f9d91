/**
 * An upgrade to a version with another read model: a process of the new version fills that when it starts, beside one
 * of the old version that serves, and the old read model is removed once nobody uses it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { removeSuperseded } from '../../src/operations/maintenance/remove-superseded.ts';
import { randomFrom } from '../faults/load.ts';
import { seed, survive } from '../faults/survive.ts';
import { verify } from '../faults/verify.ts';
import { isFull, scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { createLog } from '../support/deployment-kind.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { createDatabase } from '../support/postgres.ts';
import { launchServer, sleepUntil, startServer, untilReady, type TestServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { limitMs } from '../support/time-limits.ts';

const earlierSchema = readModelSchema.replace(/\d+$/, (number) => String(Number(number) - 1));
const earlierVersion = `--import=${new URL('../support/earlier-read-model.ts', import.meta.url).href}`;

/** More than are left to the service when it opens the log. */
const writes = isFull ? 10_000 : 700;
const writesAtOnce = 50;

let pool: pg.Pool;
let environment: Readonly<Record<string, string>>;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const [database, log] = await Promise.all([createDatabase(), createLog()]);
  pool = new pg.Pool({ connectionString: database.url });
  environment = { DATABASE_URL: database.url, ...log.environment };
  closers.push(
    () => database.drop(),
    () => log.drop(),
    () => pool.end(),
  );
});

afterAll(async () => {
  for (const closer of closers.toReversed()) await closer();
});

/** Stopped after the tests, unless it was before. */
function owned(server: TestServer): TestServer {
  closers.push(() => server.stop());
  return server;
}

function untilLive({ url }: TestServer): Promise<void> {
  return sleepUntil(
    () =>
      fetch(`${url}/livez`).then(
        ({ ok }) => ok,
        () => false,
      ),
    'the new process listens',
  );
}

async function schemas(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname ~ '^tablog_[0-9]' order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function fillMetric({ url }: TestServer, name: 'events' | 'seconds'): Promise<number | undefined> {
  return sumOf(parseMetrics(await (await fetch(`${url}/metrics`)).text()), `tablog_fill_${name}_left`);
}

/** Takes a lock as another process would. Resolves to what ends that process. */
async function holding(lock: string, values: readonly unknown[]): Promise<() => Promise<void>> {
  const other = new pg.Client({ connectionString: environment['DATABASE_URL'] });
  await other.connect();
  closers.push(() => other.end());
  await other.query(lock, [...values]);
  return () => other.end();
}

/** At full scale clients write meanwhile, and what they were told is checked. */
function underLoad(client: Client, work: () => Promise<void>): Promise<void> {
  return isFull ? survive({ clients: [client], pauseMs: 20, verify: () => verify(environment) }, work) : work();
}

test(
  `a read model of a new version is filled beside the one that serves, after ${scale.fillKills} kills, and that one goes when nobody uses it any more`,
  async () => {
    const random = randomFrom(seed);
    const databaseUrl = environment['DATABASE_URL']!;
    const old = owned(await startServer({ databaseUrl, environment, nodeArgs: [earlierVersion] }));
    expect(await schemas()).toEqual([earlierSchema]);
    const before = new Client(old.url, await old.token());
    const { path } = await createTable(before, [{ n: 0 }]);
    const write = async (client: Client): Promise<bigint> => {
      const { status, version } = await client.post(path, [{ n: 1 }]);
      expect(status).toBe(201);
      return version!;
    };
    for (let done = 0; done < writes; done += writesAtOnce) {
      await Promise.all(Array.from({ length: writesAtOnce }, () => write(before)));
    }

    // While one process fills, others wait.
    const endFiller = await holding('select pg_advisory_lock($1, hashtext($2))', [
      advisoryLocks.fillReadModel,
      readModelSchema,
    ]);
    let next = owned(await launchServer({ databaseUrl, environment }));
    await untilLive(next);
    for (const asked of ['/readyz', path]) {
      const answer = await fetch(`${next.url}${asked}`, { headers: { authorization: `Bearer ${before.token}` } });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
      expect(await answer.json()).toMatchObject({
        error: {
          type: 'service_unavailable',
          message: expect.stringMatching(/^The read model is being filled from the log: 0 of \d+ events/),
        },
      });
    }
    expect(await fillMetric(next, 'events')).toBeGreaterThanOrEqual(writes);
    await write(before);
    await endFiller();
    await underLoad(before, async () => {
      for (let kill = 0; kill < scale.fillKills; kill += 1) {
        await sleep(random() * 500);
        await next.stop('SIGKILL');
        next = owned(await launchServer({ databaseUrl, environment }));
        await untilLive(next);
      }
      await untilReady(next);
    });
    expect([await fillMetric(next, 'events'), await fillMetric(next, 'seconds')]).toEqual([0, 0]);

    // Both go on. What one has answered, the other shows soon.
    const after = new Client(next.url, before.token);
    for (const [writing, reading] of [
      [before, after],
      [after, before],
    ] as const) {
      const version = await write(writing);
      await sleepUntil(async () => (await reading.head(path)).version === version, 'the other process shows it');
    }

    expect(await removeSuperseded(pool, readModelSchema)).toBe(false);
    // A version from before read models were named may use any.
    const endUnnamed = await holding('select pg_advisory_lock_shared($1)', [advisoryLocks.useReadModel]);
    expect(await old.stop()).toBe(0);
    expect(await removeSuperseded(pool, readModelSchema)).toBe(false);
    expect(await schemas()).toEqual([earlierSchema, readModelSchema]);
    await endUnnamed();
    let steps = 0;
    while (await removeSuperseded(pool, readModelSchema)) steps += 1;
    expect(steps).toBeGreaterThan(5);
    expect(await schemas()).toEqual([readModelSchema]);
    expect(await verify(environment)).toMatchObject({ exitCode: 0 });
  },
  limitMs(600_000),
);
