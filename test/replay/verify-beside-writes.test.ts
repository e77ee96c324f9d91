/** `verify` beside a service that goes on writing: it proves equality, and holds back no vacuum while it rebuilds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { verify } from '../../src/operations/replay/verify.ts';
import { readModelSchema } from '../../projections/models.ts';
import type { Service } from '../../src/app/service.ts';
import { openOperator } from '../support/open-operator.ts';
import { chooseSeed } from '../support/random.ts';
import { DrivenTeam, logOf } from './driven-team.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

let generated: GeneratedLog;
let service: Service;
let watcher: pg.Client;

beforeAll(async () => {
  generated = await createGeneratedLog({
    seed: chooseSeed(),
    teams: 3,
    eventsOfTeam: 150,
    blocksOfTeam: 4,
    rowsOfBlock: 50,
  });
  service = await openOperator(generated.environment);
  watcher = new pg.Client({ connectionString: generated.url });
  await watcher.connect();
});

afterAll(async () => {
  await watcher?.end();
  await service?.close();
  await generated?.drop();
});

/**
 * Writes to tables in two partitions, so many times or until it is aborted. Without a pause it would decide how long
 * `verify` takes.
 */
async function write(signal: AbortSignal, times = Infinity): Promise<void> {
  await Promise.all(
    [0, 7].map(async (partition) => {
      const team = await DrivenTeam.create(logOf(service), partition);
      for (let time = 0; time < times && !signal.aborted; time += 1) {
        const tableId = await team.table('{"n":1}');
        const row = await team.add(tableId, 'block', '{"n":2,"a":"x"}', '{"n":3}');
        await team.patch(tableId, row, '{"a":"y"}');
        await sleep(50);
      }
    }),
  );
}

/** The number of rows in tables that are not deleted. */
async function liveRows(): Promise<number> {
  const {
    rows: [found],
  } = await watcher.query(`select sum(rows)::int as rows from ${readModelSchema}.tables where not deleted`);
  return found.rows;
}

/** How many snapshots `verify` holds open: Postgres must keep what any of them can see. */
async function snapshots(): Promise<number> {
  const {
    rows: [found],
  } = await watcher.query(`select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'tablog verify' and backend_xmin is not null`);
  return found.count;
}

test('the read model is what the log says while it moves on, and no snapshot is open during the rebuild', async () => {
  const stopping = new AbortController();
  const writing = write(stopping.signal);
  let [begun, rebuilt, ended] = [0, false, false];
  const verifying = verify({
    url: generated.url,
    log: generated.log,
    batchEvents: 5,
    signal: new AbortController().signal,
    onProgress: (events, ofEvents) => {
      begun ||= ofEvents;
      rebuilt ||= events >= begun;
    },
  }).finally(() => {
    ended = true;
  });
  const [during, later]: [number[], number[]] = [[], []];
  while (!ended) {
    const wasRebuilding = begun > 0;
    const open = await snapshots();
    if (wasRebuilding && !rebuilt) during.push(open);
    else if (rebuilt) later.push(open);
    await sleep(2);
  }
  const { differences, events, counts } = await verifying;
  stopping.abort();
  await writing;
  expect(differences).toEqual([]);
  expect(counts['rows']).toBeGreaterThan(0);
  expect(during.length).toBeGreaterThan(3);
  expect(new Set(during)).toEqual(new Set([0]));
  // The comparisons need snapshots; none lasts from the first to the last.
  expect(Math.max(...later)).toBeGreaterThan(0);
  expect(later).toContain(0);
  // It went on with what was written meanwhile.
  expect(events).toBeGreaterThan(begun);
});

test('where each snapshot is old at once, others go on while the read model moves on, and all rows are compared', async () => {
  const stopping = new AbortController();
  // Not without end: with no time for more than a few keys, the comparison could not overtake those that are new.
  const writing = write(stopping.signal, 20);
  const begin = await liveRows();
  let opened = 0;
  try {
    const { differences, counts } = await verify({
      url: generated.url,
      log: generated.log,
      batchEvents: 500,
      snapshotMs: 0,
      signal: new AbortController().signal,
      // It is called for what was written since the snapshot before.
      onProgress: () => {
        opened += 1;
      },
    });
    expect(differences).toEqual([]);
    expect(counts['rows']).toBeGreaterThanOrEqual(begin);
    expect(opened).toBeGreaterThan(10);
  } finally {
    stopping.abort();
    await writing;
  }
});

test('a difference at the end is found in many short snapshots too', async () => {
  const {
    rows: [table],
  } = await watcher.query(`select table_id from ${readModelSchema}.extents
    join ${readModelSchema}.tables on tables.id = table_id
    where not tables.deleted and extents.rows > 0 and extents.generation = tables.generation order by table_id desc
    limit 1`);
  await watcher.query(`update ${readModelSchema}.extents set bytes = bytes + 1 where table_id = $1`, [table.table_id]);
  const { differences } = await verify({
    url: generated.url,
    log: generated.log,
    batchEvents: 500,
    snapshotMs: 0,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  expect(differences.map(({ what }) => what)).toContainEqual(
    expect.stringMatching(new RegExp(`^extent \\d+ \\d+ of table ${table.table_id}: bytes$`)),
  );
});
