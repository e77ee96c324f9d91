/**
 * A replay beside a service to which clients write: it is killed at random points and gone on with, and takes over.
 * Nothing is lost or made up, the processes of the service change over by themselves, and the read model is what the
 * log says.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { rebuildName } from '../../src/operations/replay/replay-progress.ts';
import { survive } from '../faults/survive.ts';
import { verify } from '../faults/verify.ts';
import { scale } from '../scale.ts';
import { useOwnApi } from '../support/api.ts';
import { Client } from '../support/client.ts';
import { parseMetrics, sumOf } from '../support/metrics.ts';
import { sleepUntil } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';
import { limitMs } from '../support/time-limits.ts';

const { api, client } = useOwnApi();

/** Clients that would fill any machine decide how long a rebuild takes until it has caught up. */
const pauseMs = 100;

/** A client for each process that answers requests. */
function clientsOfEach(): Client[] {
  const urls = api().processes.flatMap(({ role, url }) => (role === 'projector' ? [] : [url]));
  return urls.map((url) => new Client(url, client().token));
}

/** What names the read model, and the names of all that there are. */
async function readModels(): Promise<{ readonly id: unknown; readonly names: readonly string[] }> {
  const admin = new pg.Client({ connectionString: api().databaseUrl });
  await admin.connect();
  try {
    const { rows } = await admin.query<{ id: unknown; name: string }>(
      `select oid as id, nspname as name from pg_namespace where nspname like '${readModelSchema}%'`,
    );
    return { id: rows.find(({ name }) => name === readModelSchema)?.id, names: rows.map(({ name }) => name) };
  } finally {
    await admin.end();
  }
}

async function changedOver(): Promise<number[]> {
  return (await api().outputs()).map((output) => output.split('restarts with the read model').length - 1);
}

/** The events that are left until a read model is filled, as each process says. */
async function eventsLeft(): Promise<(number | undefined)[]> {
  return Promise.all(
    api().processes.map(async ({ url }) =>
      sumOf(parseMetrics(await (await fetch(`${url}/metrics`)).text()), 'tablog_fill_events_left'),
    ),
  );
}

test('each process says in its metrics how far a replay is, as long as that runs', async () => {
  const none = api().processes.map(() => 0);
  expect(await eventsLeft()).toEqual(none);
  const admin = new pg.Client({ connectionString: api().databaseUrl });
  await admin.connect();
  try {
    // The replay waits for this lock before it takes over.
    const lock = [advisoryLocks.maintenance, `hashtext('${readModelSchema}')`].join(', ');
    await admin.query(`select pg_advisory_lock(${lock})`);
    const replaying = runTablog(['replay'], api().operatorEnvironment);
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
    and classid = ${advisoryLocks.maintenance}
      and database = (select oid from pg_database where datname = current_database())`;
    await sleepUntil(async () => (await admin.query(waiting)).rowCount === 1, 'the replay waits');
    expect(await eventsLeft()).toEqual(none);
    for (const name of ['a', 'b', 'c']) expect((await client().post('/tables', { name, rows: [] })).status).toBe(201);
    expect(await eventsLeft()).toEqual(none.map(() => 3));
    replaying.child.kill('SIGKILL');
    await replaying;
    await sleepUntil(async () => (await eventsLeft()).every((left) => left === 0), 'no replay runs');
    expect((await readModels()).names).toContain(rebuildName(readModelSchema));
  } finally {
    await admin.end();
  }
});

test(
  `a replay takes over under load, after ${scale.replayKills} kills of it`,
  async () => {
    const { operatorEnvironment: environment } = api();
    await survive(
      { clients: clientsOfEach(), pauseMs, recoveryMs: 60_000, verify: () => verify(environment) },
      async (random, acknowledged) => {
        await sleepUntil(() => acknowledged() > 100, 'clients write');
        for (let takeover = 1; takeover <= scale.replayTakeovers; takeover += 1) {
          for (let kill = 0; kill < scale.replayKills; kill += 1) {
            const killed = runTablog(['replay', '--batch-events', '5'], environment);
            await sleep(1000 + random() * 3000);
            killed.child.kill('SIGKILL');
            await killed;
          }
          const before = await readModels();
          const replayed = await runTablog(['replay', '--json'], environment);
          expect(replayed).toMatchObject({ code: 0 });
          expect(JSON.parse(replayed.stdout)).toMatchObject({ shortened: [] });
          const after = await readModels();
          expect(after.id).not.toBe(before.id);
          expect(after.names).toEqual([readModelSchema]);
          await sleepUntil(
            async () => (await changedOver()).every((times) => times >= takeover),
            'all processes have changed over',
          );
          const reached = acknowledged();
          await sleepUntil(() => acknowledged() > reached + 100, 'writes are acknowledged again');
        }
      },
    );
  },
  limitMs(600_000),
);
