/** `verify` beside a service that goes on writing: it proves equality, and holds back no vacuum while it rebuilds. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { verify } from '../../src/replay/verify.ts';
import type { Service } from '../../src/app/service.ts';
import type { Outcome } from '../../src/events/outcome.ts';
import { openOperator } from '../support/open-operator.ts';
import { DrivenTeam } from './driven-team.ts';
import { chooseSeed, createGeneratedLog, type GeneratedLog } from './generated-log.ts';

let generated: GeneratedLog;
let service: Service;
let watcher: pg.Client;

beforeAll(async () => {
  generated = await createGeneratedLog({ seed: chooseSeed(), teams: 4, eventsOfTeam: 300, blocksOfTeam: 4, rowsOfBlock: 100 });
  service = await openOperator(generated.environment);
  watcher = new pg.Client({ connectionString: generated.url });
  await watcher.connect();
}, 300_000);

afterAll(async () => {
  await watcher?.end();
  await service?.close();
  await generated?.drop();
});

/** Writes to tables in two partitions until it is aborted. */
async function write(signal: AbortSignal): Promise<void> {
  const log = {
    database: service.database,
    project: async (partition: number, _time: number, events: readonly Parameters<typeof service.log.append>[1][]): Promise<Outcome[]> => {
      return Promise.all(events.map((event) => service.log.append(partition, event)));
    },
  };
  await Promise.all([0, 7].map(async (partition) => {
    const team = await DrivenTeam.create(log, partition);
    while (!signal.aborted) {
      const tableId = await team.table('{"n":1}');
      const row = await team.add(tableId, 'block', '{"n":2,"a":"x"}', '{"n":3}');
      await team.patch(tableId, row, '{"a":"y"}');
    }
  }));
}

/** How many snapshots `verify` holds open: Postgres must keep what any of them can see. */
async function snapshots(): Promise<number> {
  const { rows: [found] } = await watcher.query(`select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'tablog verify' and backend_xmin is not null`);
  return found.count;
}

test('the read model is what the log says while it moves on, and no snapshot is open during the rebuild', async () => {
  const stopping = new AbortController();
  const writing = write(stopping.signal);
  let [begun, rebuilt, ended] = [0, false, false];
  const verifying = verify({
    url: generated.url, log: generated.log, batchEvents: 5, signal: new AbortController().signal,
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
    await new Promise((resolve) => setTimeout(resolve, 2));
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
}, 300_000);
