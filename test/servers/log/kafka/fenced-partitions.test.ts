/**
 * What the owner of a partition learns when it loses it: whether another process owns it, or has only fenced it off to
 * prove the log.
 */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { PartitionProjection } from '../../../../src/log/kafka/partition-projection.ts';
import { fenceOff, isFenced, readProgressOf, takeOverPartition } from '../../../../src/log/progress/progress.store.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { models } from '../../../../projections/models.ts';
import { encodeGenesis } from '../../../../src/log/identity.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(4, 'file');

test('each takeover and each fence raises the epoch, which tells them apart', async () => {
  let { epoch } = await takeOverPartition(database().pool, 0);
  for (let n = 0; n < 20; n += 1) {
    const isFence = n % 3 !== 0;
    const { epoch: next } = await (isFence
      ? fenceOff(database().pool, 0, epoch)
      : takeOverPartition(database().pool, 0));
    expect(next).toBeGreaterThan(epoch);
    expect(isFenced(next)).toBe(isFence);
    epoch = next;
  }
});

test('processes that saw the same epoch share one fence, and a takeover is one too', async () => {
  const { epoch: seen } = await takeOverPartition(database().pool, 3);
  const fences = await Promise.all(Array.from({ length: 8 }, () => fenceOff(database().pool, 3, seen)));
  const [fenced] = new Set(fences.map(({ epoch }) => epoch));
  expect(new Set(fences.map(({ epoch }) => epoch)).size).toBe(1);
  expect(isFenced(fenced!)).toBe(true);
  const taken = await takeOverPartition(database().pool, 3);
  expect((await fenceOff(database().pool, 3, fenced!)).epoch).toBe(taken.epoch);
  expect((await fenceOff(database().pool, 3, taken.epoch)).epoch).toBeGreaterThan(taken.epoch);
});

test('an epoch that came back because Postgres lost commits is no fence', async () => {
  const { epoch: before } = await takeOverPartition(database().pool, 3);
  const { epoch: seen } = await takeOverPartition(database().pool, 3);
  await database().pool.query('update progress set epoch = $1 where partition = 3', [String(before)]);
  expect(isFenced((await fenceOff(database().pool, 3, seen)).epoch)).toBe(true);
});

/** What the owner is told when it stores its first record after this. */
async function lostAfter(partition: number, lose: () => Promise<unknown>): Promise<boolean> {
  const position = await takeOverPartition(database().pool, partition);
  await lose();
  const lost = Promise.withResolvers<boolean>();
  const projection = new PartitionProjection({
    partition,
    position,
    database: database(),
    projector: new Projector(models),
    withNotification: async (_records, _decided, store) => {
      await store(null);
      return false;
    },
    onProjected: () => lost.reject(new Error('it was stored')),
    onHalted: (_offset, error) => lost.reject(error),
    onLost: lost.resolve,
  });
  projection.offer([{ partition, offset: 0n, time: Date.now(), bytes: encodeGenesis(randomUUID()) }]);
  try {
    return await lost.promise;
  } finally {
    await projection.close();
  }
}

test('an owner that was fenced off by a process that proves the log, or by many, may take the partition back at once', async () => {
  expect(
    await lostAfter(1, async () => {
      for (let n = 0; n < 8; n += 1)
        await fenceOff(database().pool, 1, (await readProgressOf(database().pool, 1)).epoch);
    }),
  ).toBe(true);
});

test('an owner that another process took the partition from may not', async () => {
  expect(
    await lostAfter(2, async () => {
      await fenceOff(database().pool, 2, (await readProgressOf(database().pool, 2)).epoch);
      await takeOverPartition(database().pool, 2);
    }),
  ).toBe(false);
});
