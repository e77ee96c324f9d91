import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { removeGarbage } from '../../../../src/log/garbage.ts';
import type { Models } from '../../../../src/log/model.ts';
import type { Database } from '../../../../src/storage/database/database.ts';
import { MaintenanceMetrics } from '../../../../src/operations/metrics/maintenance-metrics.ts';
import {
  runRound,
  type MaintenanceObserver,
  type MaintenanceTask,
} from '../../../../src/operations/maintenance/round.ts';
import { parseMetrics, sumOf } from '../../../support/metrics.ts';

/** A kind that finds something so many times in all. */
function finding(times: number, repeats = true): MaintenanceTask & { readonly steps: () => number } {
  let steps = 0;
  return {
    name: 'finding',
    repeats,
    steps: () => steps,
    step: async () => {
      steps += 1;
      await turn();
      return steps <= times;
    },
  };
}

const failing: MaintenanceTask = { name: 'failing', repeats: true, step: () => Promise.reject(new Error('failed')) };
const observer: MaintenanceObserver = { stepped: () => undefined, failed: () => undefined, yielded: () => undefined };
const run = (
  tasks: readonly MaintenanceTask[],
  failures: unknown[] = [],
  signal = new AbortController().signal,
): Promise<boolean[]> =>
  runRound(tasks, { roundMs: 500, signal, observer, onFailure: (error) => failures.push(error) });

test('a kind that always has work does not keep the others from the next round', async () => {
  const [endless, scanning, brief] = [finding(Infinity), finding(Infinity, false), finding(2)];
  for (let rounds = 1; rounds <= 3; rounds += 1) {
    const before = endless.steps();
    const failures: unknown[] = [];
    expect(await run([failing, endless, scanning, brief], failures)).toEqual([false, true, true, false]);
    expect(failures).toHaveLength(1);
    expect(endless.steps()).toBeGreaterThan(before);
    expect([scanning.steps(), brief.steps()]).toEqual([rounds, rounds + 2]);
  }
});

test('a round ends on request', async () => {
  const closing = new AbortController();
  const endless = finding(Infinity);
  const round = runRound([endless], { roundMs: 2 ** 30, signal: closing.signal, observer, onFailure: () => undefined });
  closing.abort();
  expect(await round).toEqual([true]);
});

test('every step of garbage collection has its turn, whatever the earlier ones find', async () => {
  const turns: string[] = [];
  const garbage = Object.fromEntries(
    ['finds', 'fails', 'comes last'].map((name) => [
      name,
      async () => {
        turns.push(name);
        await turn();
        if (name === 'fails') throw new Error('of a step');
        return name === 'finds' ? 1 : 0;
      },
    ]),
  );
  const models = { model: { garbage } } as unknown as Models;
  const database = { pool: { query: async () => ({ rowCount: 0 }) } } as unknown as Database;
  await expect(removeGarbage(models, database)).rejects.toThrow('of a step');
  expect(turns).toEqual(['finds', 'fails', 'comes last']);
});

test('tasks whose steps do not end delay others only once as many run as may run at once', async () => {
  const closing = new AbortController();
  let end: () => void = () => undefined;
  const ending = new Promise<void>((resolve) => {
    end = resolve;
  });
  const stuck = Array.from({ length: 3 }, (_, at): MaintenanceTask => ({
    name: `stuck ${at}`,
    repeats: true,
    step: () => ending.then(() => 0),
  }));
  const others = Array.from({ length: 20 }, () => finding(2));
  const round = runRound([...stuck, ...others], {
    roundMs: 2 ** 30,
    signal: closing.signal,
    observer,
    onFailure: () => undefined,
  });
  while (others.some(({ steps }) => steps() < 3)) await turn();
  end();
  expect(await round).toEqual([...stuck, ...others].map(() => false));
});

test('the work of steps is counted by kind, and so is the time for which a kind has not finished', async () => {
  const registry = new Registry();
  const metrics = new MaintenanceMetrics(registry);
  const value = async (name: string, kind: string): Promise<number> =>
    sumOf(parseMetrics(await registry.metrics()), name, { kind })!;
  await runRound([failing, { ...finding(2), name: 'brief' }, { name: 'many', repeats: false, step: async () => 7 }], {
    roundMs: 2 ** 30,
    signal: new AbortController().signal,
    observer: metrics,
    onFailure: () => undefined,
  });
  expect(await value('tablog_maintenance_done_total', 'brief')).toBe(2);
  expect(await value('tablog_maintenance_done_total', 'many')).toBe(7);
  expect(await value('tablog_maintenance_failures_total', 'failing')).toBe(1);
  expect(await value('tablog_maintenance_behind_seconds', 'brief')).toBe(0);
  for (const kind of ['many', 'failing'])
    expect(await value('tablog_maintenance_behind_seconds', kind)).toBeGreaterThan(0);
  metrics.yielded();
  expect(await value('tablog_maintenance_behind_seconds', 'many')).toBe(0);
});
