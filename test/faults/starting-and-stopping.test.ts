/** Processes start together, or are stopped while clients are waiting. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { createDatabase } from '../support/postgres.ts';
import { chooseSeed } from '../support/random.ts';
import { startServer } from '../support/server.ts';
import { killEverything, postmasterOf, processesOf, untilGone } from './kill.ts';
import { randomFrom, work, type Mix } from './load.ts';
import { createRecordedTable, historyOf, RecordedTable } from './recorded-table.ts';

test.each(Array.from({ length: scale.startsAtOnce }, (_, at) => at + 1))(
  'processes that start at once on a new database create one first team (round %i)',
  async () => {
    const database = await createDatabase();
    const servers = await Promise.all([1, 2, 3].map(() => startServer({ databaseUrl: database.url })));
    try {
      const tokens = await Promise.allSettled(servers.map((server) => server.token()));
      const made = tokens.flatMap((token) => (token.status === 'fulfilled' ? [token.value] : []));
      expect(made.length).toBe(1);
      for (const { url } of servers) expect((await new Client(url, made[0]!).get('/tables')).status).toBe(200);
    } finally {
      const exitCodes = await Promise.all(servers.map((server) => server.stop()));
      expect(exitCodes).toEqual([0, 0, 0]);
      await database.drop();
    }
  },
);

test('on SIGTERM under load, requests in flight are answered, nothing is lost, and no process is left', async () => {
  const seed = chooseSeed();
  const mix: Mix = { patch: 8, add: 4, delete: 2, addBlock: 1, addBody: 1 };
  const random = randomFrom(seed);
  const folder = await mkdtemp(join(tmpdir(), 'tablog-stop-'));
  let server = await startServer({ folder });
  try {
    const token = await server.token();
    const { tableId, rows, recorder } = await createRecordedTable(new Client(server.url, token), 8);
    let underWay = 0;
    for (let round = 0; round < scale.stopsUnderLoad; round += 1) {
      const client = new Client(server.url, token);
      let goesOn = true;
      const working = Promise.all(
        Array.from({ length: 12 }, (_, n) => {
          const table = new RecordedTable(`client ${round}.${n}`, client, tableId, recorder);
          return work(table, rows, mix, randomFrom(seed + 100 * round + n), () => goesOn);
        }),
      );
      await sleep(300 + random() * 500);
      const processes = await processesOf(server);
      goesOn = false;
      const { place } = recorder;
      // By then the last requests have left this process.
      await sleep(20);
      const stopped = recorder.place;
      const exitCode = await server.stop();
      await working;
      expect(exitCode).toBe(0);
      // A client's later requests may find the connection closed.
      expect(recorder.calls.filter(({ invoked, returned }) => invoked <= place && returned === Infinity)).toEqual([]);
      underWay += recorder.calls.filter(({ invoked, returned }) => invoked <= place && returned > stopped).length;
      await untilGone(processes);
      expect(await postmasterOf(server)).toBeUndefined();
      server = await startServer({ folder });
    }
    expect(underWay).toBeGreaterThan(0);
    expect(recorder.unexpected).toEqual([]);
    expect(findProblems(await historyOf(recorder, new Client(server.url, token), tableId, rows))).toEqual([]);
    expect(await server.stop()).toBe(0);
  } finally {
    await killEverything(server);
    await rm(folder, { recursive: true, force: true });
  }
});
