/** Many clients, two processes, one table: the result is as if each write had taken place alone (spec 9). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { findProblems } from '../support/history.ts';
import { chooseSeed } from '../support/random.ts';
import { deploy, type FaultDeployment } from './deployment.ts';
import { randomFrom, work, type Mix } from './load.ts';
import { createRecordedTable, historyOf, RecordedTable } from './recorded-table.ts';

let deployment: FaultDeployment;

beforeAll(async () => {
  deployment = await deploy(2);
});

afterAll(async () => {
  await deployment.stop();
});

describe('racers', () => {
  test.each(Array.from({ length: scale.races }, (_, at) => at + 1))(
    'exactly one of 32 patches with one If-Match wins (round %i)',
    async () => {
      const { tableId, rows, recorder } = await createRecordedTable(deployment.clients[0]!, 1);
      const racers = Array.from({ length: 32 }, (_, n) => {
        return new RecordedTable(`racer ${n}`, deployment.clients[n % 2]!, tableId, recorder);
      });
      const version = await racers[0]!.read(rows[0]!);
      const outcomes = await Promise.all(racers.map((racer) => racer.patch(rows[0]!, version)));
      const count = (status: string): number => outcomes.filter((outcome) => outcome.status === status).length;
      expect({ applied: count('applied'), refused: count('refused') }).toEqual({ applied: 1, refused: 31 });
      expect(recorder.unexpected).toEqual([]);
      expect(findProblems(await historyOf(recorder, deployment.clients[1]!, tableId, rows))).toEqual([]);
    },
  );
});

describe('histories', () => {
  const small: Mix = { patch: 10, batch: 4, look: 4, add: 2, delete: 2, head: 2 };
  const all: Mix = { ...small, addBlock: 0.5, addBody: 0.3, addRefused: 0.5 };

  test.each([
    ['small writes', small],
    ['small and large writes', all],
  ])('histories of %s are linearizable', async (_name, mix) => {
    const seed = chooseSeed();
    const { tableId, rows, recorder } = await createRecordedTable(deployment.clients[0]!, 8);
    const endAt = performance.now() + scale.historyMs;
    await Promise.all(
      Array.from({ length: 16 }, (_, n) => {
        const table = new RecordedTable(`client ${n}`, deployment.clients[n % 2]!, tableId, recorder);
        return work(table, rows, mix, randomFrom(seed + n), () => performance.now() < endAt);
      }),
    );
    const history = await historyOf(recorder, deployment.clients[1]!, tableId, rows);
    expect(recorder.unexpected).toEqual([]);
    expect(findProblems(history)).toEqual([]);
    process.stderr.write(`${recorder.calls.length} calls\n`);
    const patches = recorder.calls.flatMap(({ operation }) =>
      operation.kind === 'patch' ? [operation.outcome.status] : [],
    );
    expect(new Set(patches)).toEqual(new Set(['applied', 'refused']));
  });
});
