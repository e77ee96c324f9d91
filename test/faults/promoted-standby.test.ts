/**
 * The primary is killed under load and its standby promoted, with the log in Postgres. A synchronous standby has
 * everything that was acknowledged. An asynchronous one may lack the last commits, but no issued version or row ID
 * means something else afterwards.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { Client } from '../support/client.ts';
import { freePort, launchServer, sleepUntil, untilReady } from '../support/server.ts';
import { startWithStandby, type StandbyOptions } from '../support/standby.ts';
import { limitMs } from '../support/time-limits.ts';
import { CutLine } from './cut-line.ts';
import { killProcesses, withDescendants } from './kill.ts';
import { findSecondMeanings, readAllRows } from './meanings.ts';
import { createRecordedTable, RecordedTable, type Recorder } from './recorded-table.ts';
import { Supervisor, type SupervisedPlace } from './supervisor.ts';
import { clientsAtWork, survive } from './survive.ts';
import { verify } from './verify.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

interface Replicated {
  readonly places: readonly SupervisedPlace[];
  readonly clients: readonly Client[];
  readonly supervisor: Supervisor;
  readonly verify: () => ReturnType<typeof verify>;
  cutReplication(): void;
  /** Kills the primary, and promotes the standby, which then has the primary's address. */
  failOver(): Promise<void>;
  untilReady(): Promise<void>;
}

/** So long that the tests fail if a process goes on looking for outcomes where it cannot find any. */
const environment = { OUTCOME_WAIT_MS: '90000' };

/** Two processes on a Postgres with a standby. Nobody restarts them before the supervisor watches them. */
async function deployWithStandby(options: StandbyOptions): Promise<Replicated> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-standby-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const { primary, standby } = await startWithStandby(folder, options);
  closers.push(
    () => standby.stop(),
    () => primary.stop(),
  );
  const url = new URL(primary.url);
  const line = await CutLine.open(Number(url.port));
  closers.push(() => line.close());
  url.port = String(line.port);
  const places: SupervisedPlace[] = [];
  closers.push(() => Promise.all(places.map(({ server }) => server.stop())));
  for (const port of [await freePort(), await freePort()]) {
    const launch: SupervisedPlace['launch'] = () =>
      launchServer({ databaseUrl: url.href, folder: join(folder, 'data'), port, environment });
    places.push({ launch, server: await launch() });
  }
  const supervisor = new Supervisor();
  closers.push(() => supervisor.end());
  const whenReady = async (): Promise<void> => {
    await Promise.all(places.map(({ server }) => untilReady(server)));
  };
  await whenReady();
  const token = await places[0]!.server.token();
  return {
    places,
    supervisor,
    clients: places.map(({ server }) => new Client(server.url, token)),
    verify: () => verify({ DATABASE_URL: url.href }),
    cutReplication: () => standby.cutReplication(),
    failOver: async () => {
      line.target = null;
      await killProcesses(await withDescendants([primary.pid]));
      line.target = Number(new URL((await standby.promote()).url).port);
    },
    untilReady: whenReady,
  };
}

const rounds = Array.from({ length: scale.promotions }, (_, at) => at + 1);

test.each(rounds)(
  'no acknowledged write is lost when a synchronous standby is promoted (round %i)',
  async () => {
    const { places, clients, supervisor, ...replicated } = await deployWithStandby({ synchronous: true });
    supervisor.watch(places);
    await survive({ clients, verify: replicated.verify, recoveryMs: 60_000 }, async (random) => {
      await sleep(500 + random() * 1500);
      // From now on no commit is acknowledged, because the standby cannot answer. Such commits may be lost.
      replicated.cutReplication();
      await sleep(300);
      await replicated.failOver();
      await sleepUntil(() => supervisor.endings.length === places.length, 'the processes have ended');
      await replicated.untilReady();
      await sleep(500 + random() * 500);
    });
    expect(supervisor.endings).toEqual([1, 1]);
  },
  limitMs(400_000),
);

/** Lets clients write until this many more of their patches are applied. */
async function untilPatched({ calls }: Recorder, count: number): Promise<void> {
  const patches = (): number =>
    calls.filter(({ operation }) => operation.kind === 'patch' && operation.outcome.status === 'applied').length;
  const enough = patches() + count;
  await sleepUntil(() => patches() >= enough, `${count} patches are applied`);
}

test.each(rounds)(
  'no version and no row ID has two meanings when a standby without the last commits is promoted (round %i)',
  async () => {
    const { places, clients, supervisor, ...replicated } = await deployWithStandby({ synchronous: false });
    const created = await createRecordedTable(clients[0]!, 8);
    const { tableId, rows, recorder } = created;
    let goesOn = true;
    const working = clientsAtWork(clients, created, () => goesOn);
    try {
      await untilPatched(recorder, 50);
      replicated.cutReplication();
      await untilPatched(recorder, 50);
      await replicated.failOver();
      await sleepUntil(
        () => places.every(({ server }) => server.process.exitCode !== null),
        'the processes have ended',
      );
    } finally {
      goesOn = false;
      await working;
    }
    for (const { server } of places) expect(server.output()).toMatch(/Postgres goes on from another history/);
    supervisor.watch(places);
    await sleepUntil(() => supervisor.endings.length === places.length, 'they are started again');
    await sleepUntil(() => places.every(({ server }) => server.process.exitCode === null), 'they are started again');
    await replicated.untilReady();

    const table = new RecordedTable('after', clients[1]!, tableId, recorder);
    const kept = new Map<string, bigint>();
    for (const row of rows) kept.set(row, (await table.read(row))!);
    const lost = recorder.calls.flatMap(({ operation }) => {
      if (operation.kind !== 'patch' || operation.outcome.status !== 'applied') return [];
      const {
        row,
        outcome: { version },
      } = operation;
      return kept.has(row) && version > kept.get(row)! ? [{ row, version }] : [];
    });
    expect(lost.length).toBeGreaterThan(0);
    for (const { row, version } of lost)
      expect(await table.patch(row, version)).toEqual({ status: 'refused', changed: true });
    for (const [row, version] of kept) expect(await table.patch(row, version)).toMatchObject({ status: 'applied' });

    goesOn = true;
    const workingAgain = clientsAtWork(clients, created, () => goesOn, { name: 'later client' });
    try {
      await untilPatched(recorder, 100);
    } finally {
      goesOn = false;
      await workingAgain;
    }
    expect(recorder.unexpected).toEqual([]);
    expect(findSecondMeanings(recorder, await readAllRows(clients[0]!))).toEqual([]);
    expect(await replicated.verify()).toMatchObject({ exitCode: 0 });
    expect(supervisor.endings).toEqual([1, 1]);
  },
  limitMs(400_000),
);
