/** A task that holds a connection of a pool gets no second one, in any of the pools. */
import { expect, test } from '@jest/globals';
import { SecondConnection, withConnection } from '../../../../src/storage/database/one-connection.ts';
import { inTransaction } from '../../../../src/storage/database/transaction.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(1, 'file');
const select = { name: '', text: 'select 1' };

test('a task that holds a connection of the pool is refused a second one, whichever way it asks', async () => {
  const { pool } = database();
  await expect(inTransaction(pool, () => pool.query('select 1'))).rejects.toThrow(SecondConnection);
  await expect(inTransaction(pool, () => inTransaction(pool, async () => undefined))).rejects.toThrow(SecondConnection);
  await expect(withConnection(pool, () => pool.connect())).rejects.toThrow(SecondConnection);
});

test.each(['writers', 'scans', 'fills'] as const)(
  'a task that holds one of the %s is refused a second one, also of code that it calls',
  async (name) => {
    const pool = database()[name];
    const nested = async (): Promise<unknown> => {
      await new Promise((resolve) => setImmediate(resolve));
      return pool.with((tx) => tx.query(select));
    };
    await expect(pool.with(nested)).rejects.toThrow(SecondConnection);
  },
);

test('a task may hold connections of several pools, and take one again after it gave one back', async () => {
  const { pool, writers } = database();
  await writers.with(async () => {
    await inTransaction(pool, (client) => client.query('select 1'));
    await inTransaction(pool, (client) => client.query('select 1'));
  });
  // What a task has begun and left behind is no part of it once the connection is given back.
  const left = Promise.withResolvers<void>();
  let later: Promise<unknown> | undefined;
  await writers.with(async () => {
    later = left.promise.then(() => writers.with((tx) => tx.query(select)));
  });
  left.resolve();
  expect(await later).toMatchObject({ rowCount: 1 });
});
