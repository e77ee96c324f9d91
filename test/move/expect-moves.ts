/** What a move of the log must not change, while clients write and processes are killed. */
import { expect } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogKind } from '../../src/log/postgres/log-place.ts';
import { Client } from '../support/client.ts';
import { findProblems } from '../support/history.ts';
import { untilDone } from '../support/jobs.ts';
import { chooseSeed } from '../support/random.ts';
import { freePort, sleepUntil } from '../support/server.ts';
import { outputOf } from '../support/tablog.ts';
import { randomFrom, work, type Mix } from '../faults/load.ts';
import { createRecordedTable, historyOf, RecordedTable } from '../faults/recorded-table.ts';
import type { Killed, MovedService } from './moved-service.ts';

const mix: Mix = { patch: 10, add: 2, delete: 1, head: 2 };

/** A move may end before it is killed so often: then the log moves back, and once more. */
const movesMax = 40;

const isIn: Readonly<Record<LogKind, string>> = {
  kafka: 'the log is in Kafka: set KAFKA_BROKERS',
  postgres: 'the log is in Postgres: remove the settings',
};

/** Moves the log to the other kind and back under load, with so many kills of the command each way. */
export async function expectMoves(service: MovedService, kills: number): Promise<void> {
  const seed = chooseSeed();
  const random = randomFrom(seed);
  const client = new Client(service.urls, await service.token());
  const { tableId, rows, recorder } = await createRecordedTable(client, 8);
  const tables = Array.from({ length: 8 }, (_, n) => new RecordedTable(`client ${n}`, client, tableId, recorder));
  const kept = await client.post('/tables', {
    name: 'kept',
    schema: { columns: [{ id: 'name', type: 'string' }] },
    rows: [{ name: 'a' }],
  });
  const path = `/tables/${kept.json.data.tableID}/rows`;
  const add = (): ReturnType<Client['send']> =>
    client.send(path, { method: 'POST', body: [{ name: 'once' }], headers: { 'Idempotency-Key': 'once' } });
  const added = await add();
  expect(added.status).toBe(201);
  const {
    status,
    json: {
      data: { jobID },
    },
  } = await client.post(path, [{ name: 'by a job' }], { 'x-service-asynchronous': 'true' });
  expect(status).toBe(202);
  const job = (await untilDone(client, jobID)).text;
  expect(job).toContain('"succeeded"');

  const killed: Record<LogKind, Killed> = {
    kafka: { command: 0, whileClosed: 0, serving: 0 },
    postgres: { command: 0, whileClosed: 0, serving: 0 },
  };
  for (
    let moves = 0;
    moves < 2 || (moves < movesMax && Math.min(killed.kafka.command, killed.postgres.command) < kills);
    moves += 1
  ) {
    const [from, to] = service.log === 'kafka' ? (['kafka', 'postgres'] as const) : (['postgres', 'kafka'] as const);
    if (moves > 0 && to === 'kafka') await service.useNewTopic();
    const before = await client.get(path);
    const { continuation } = (await client.get(`${path}?limit=1`)).json;
    const furtherPage = (await client.get(`${path}?continuation=${continuation}`)).text;
    let hasMoved = false;
    const load = Promise.all(
      tables.map((table) =>
        work(table, rows, mix, random, async () => {
          while (!hasMoved && !service.isServing) await sleep(20);
          return !hasMoved;
        }),
      ),
    );
    try {
      const byMove = await service.move({ kills: kills - killed[to].command, random });
      for (const [what, times] of Object.entries(byMove) as [keyof Killed, number][]) killed[to][what] += times;
    } finally {
      hasMoved = true;
    }
    await load;
    for (const { code, output } of service.endings) {
      expect(code).toBe(1);
      expect(output).toContain(isIn[to]);
      // Its refusals are no failures.
      expect(output).not.toContain('"level":50');
    }
    const late = await service.launch(service.endings.at(-1)!.role, await freePort(), from);
    await service.serve();
    await sleepUntil(() => late.process.exitCode !== null, 'a process with the former settings ends');
    expect(late.output()).toContain(isIn[to]);

    const after = await client.get(path);
    expect([after.text, after.version]).toEqual([before.text, before.version]);
    expect((await client.get(`/jobs/${jobID}`)).text).toBe(job);
    expect((await client.get(`${path}?continuation=${continuation}`)).text).toBe(furtherPage);
    const again = await add();
    expect([again.status, again.text, again.version]).toEqual([added.status, added.text, added.version]);
    const [row] = added.json.data.rowIDs;
    const read = await client.get(`${path}/${row}`);
    const patched = await client.send(`${path}/${row}`, {
      method: 'PATCH',
      body: { name: `${to} ${moves}` },
      headers: { 'If-Match': read.headers.get('etag')! },
    });
    expect(patched.status).toBe(200);
    const until = performance.now() + 1000;
    await Promise.all(tables.map((table) => work(table, rows, mix, random, () => performance.now() < until)));
  }

  process.stderr.write(
    `killed while the log moved to Kafka: ${JSON.stringify(killed.kafka)}, and to Postgres: ${JSON.stringify(killed.postgres)}\n`,
  );
  // One that is to be killed once may have ended before.
  if (kills > 1) expect(Math.min(killed.kafka.command, killed.postgres.command)).toBe(kills);
  expect(recorder.unexpected).toEqual([]);
  expect(findProblems(await historyOf(recorder, client, tableId, rows))).toEqual([]);
  await service.stop();
  expect(JSON.parse(await outputOf(['verify', '--json'], service.environment))).toMatchObject({
    equal: true,
    differences: [],
  });
}
