/**
 * The service is killed under load, repeatedly: together with its embedded Postgres, alone, or, with VICTIM, always in
 * one of these ways. Acknowledged writes are there, unanswered ones wholly or not at all, refused ones never happened,
 * and versions go on rising.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { chooseSeed } from '../support/random.ts';
import { freePort, launchServer, sleepUntil, startServer, untilReady, type TestServer } from '../support/server.ts';
import { limitMs } from '../support/time-limits.ts';
import { killProcesses, killEverything, postmasterOf, processesOf, untilGone } from './kill.ts';
import { randomFrom, work, type Mix } from './load.ts';
import { ManyTeams } from './many-teams.ts';
import { createRecordedTable, findCreationProblems, historyOf, RecordedTable } from './recorded-table.ts';
import { verify } from './verify.ts';
import { chooseVictims, pickVictim, type Victim } from './victims.ts';

const kills = scale.kills;
const seed = chooseSeed();
const mix: Mix = {
  patch: 12,
  batch: 5,
  look: 5,
  add: 4,
  delete: 3,
  head: 1,
  addBlock: 0.6,
  addBody: 0.5,
  addRefused: 0.3,
  create: 0.3,
};

let folder: string;
let server: TestServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-kills-'));
});

afterEach(async () => {
  await killEverything(server);
  await rm(folder, { recursive: true, force: true });
});

interface KilledVictim extends Victim {
  readonly processes: () => Promise<number[]>;
}

const victims = chooseVictims<KilledVictim>([
  // Postgres outlives the service, which must then join it.
  { name: 'service', weight: 1, processes: async () => [server.process.pid!] },
  { name: 'everything', weight: 7, processes: () => processesOf(server) },
]);

/** Open while the server can be reached. */
class Gate {
  #waiting = Promise.withResolvers<void>();
  #isOpen = false;

  open(): void {
    this.#isOpen = true;
    this.#waiting.resolve();
  }

  close(): void {
    if (this.#isOpen) this.#waiting = Promise.withResolvers<void>();
    this.#isOpen = false;
  }

  async pass(): Promise<void> {
    await this.#waiting.promise;
  }
}

test(
  `no acknowledged write is lost in ${kills} kills`,
  async () => {
    process.stderr.write(`KILLS=${kills} of ${victims.map(({ name }) => name).join(', ')}\n`);
    const random = randomFrom(seed);
    const port = await freePort();
    server = await startServer({ folder, port });
    const client = new Client(server.url, await server.token());
    const { tableId, rows, recorder } = await createRecordedTable(client, 8);
    const teams = await ManyTeams.start([server.url], { DATA_DIR: folder });
    const gate = new Gate();
    let goesOn = true;
    const clients = Array.from({ length: 8 }, (_, n) => {
      const table = new RecordedTable(`client ${n}`, client, tableId, recorder);
      return work(table, rows, mix, randomFrom(seed + n + 1), async () => {
        if (goesOn) await gate.pass();
        return goesOn;
      });
    });

    for (let count = 0; count < kills; count += 1) {
      // Most kills come during work, some during the start.
      const atWork = count === 0 || random() < 0.85;
      if (atWork) {
        await untilReady(server);
        gate.open();
      }
      await sleep(50 + random() * (atWork ? 800 : 400));
      const processes = await pickVictim(victims, random).processes();
      const exited = once(server.process, 'exit');
      const killed = killProcesses(processes);
      gate.close();
      await Promise.all([killed, exited]);
      server = await launchServer({ folder, port });
    }

    await untilReady(server);
    gate.open();
    await sleepUntil(
      () => recorder.acknowledged >= kills * scale.writesPerKill,
      `${scale.writesPerKill} writes per kill are acknowledged`,
      300_000,
    );
    goesOn = false;
    await Promise.all(clients);
    process.stderr.write(`${recorder.acknowledged} writes were acknowledged\n`);

    expect(await teams.findProblems()).toEqual([]);
    expect(recorder.unexpected).toEqual([]);
    const history = await historyOf(recorder, client, tableId, rows);
    expect(findProblems(history)).toEqual([]);
    expect(await findCreationProblems(recorder, client)).toEqual([]);
    const outcomes = recorder.calls.flatMap(({ operation }) =>
      'outcome' in operation ? [operation.outcome.status] : [],
    );
    // Two kills may happen without a write in flight.
    expect(new Set(outcomes)).toEqual(
      new Set(['applied', 'refused', ...(kills > 2 || outcomes.includes('unknown') ? ['unknown'] : [])]),
    );

    const processes = await processesOf(server);
    expect(await server.stop()).toBe(0);
    await untilGone(processes);
    expect(await verify({ DATA_DIR: folder })).toMatchObject({ exitCode: 0 });
    expect(await postmasterOf(server)).toBeUndefined();
  },
  limitMs(600_000),
);

test('the next start completes a first start that was cut off', async () => {
  const random = randomFrom(seed);
  for (let round = 0; round < 4; round += 1) {
    server = await launchServer({ folder });
    await sleep(300 + random() * 1200);
    await killEverything(server);
  }
  server = await startServer({ folder });
  expect((await new Client(server.url, await server.token()).get('/tables')).status).toBe(200);
});
