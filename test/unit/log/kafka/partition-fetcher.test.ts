import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { PartitionFetcher } from '../../../../src/log/kafka/partition-fetcher.ts';

let partitions: number[];
let fetches = 0;
/** Until what can go on has gone on. */
const pass = async (): Promise<void> => {
  for (let count = 0; count < 10; count += 1) await setImmediate();
};
/** Resolve when it is asked who leads no partition, and when that is answered. */
const asked = Promise.withResolvers<void>();
const answered = Promise.withResolvers<void>();

const fetcher = new PartitionFetcher({
  logger: pino({ level: 'silent' }),
  partitions: () => partitions,
  placeOf: () => ({ offset: 0n, doubts: 0 }),
  onFetched: () => undefined,
  onOutOfRange: async () => undefined,
  connection: {
    leaders: async (wanted) => {
      if (wanted.length > 0) return new Map([['1', wanted]]);
      asked.resolve();
      await answered.promise;
      return new Map();
    },
    fetch: async () => {
      fetches += 1;
      await setImmediate();
      return new Map();
    },
  },
});

afterEach(() => fetcher.close());

test('a partition that returns while the process looks for the leaders of the others is fetched', async () => {
  partitions = [0];
  fetcher.start();
  await pass();
  partitions = [];
  await asked.promise;
  partitions = [0];
  fetcher.start();
  await pass();
  const before = fetches;
  answered.resolve();
  await pass();
  expect(fetches).toBeGreaterThan(before);
});
