import { expect, test } from '@jest/globals';
import type pg from 'pg';
import type { RecordLog } from '../../../src/log/event-log.ts';
import { readPartitionStates } from '../../../src/administration/partitions.ts';

test('events that arrive while the state is read do not count as behind', async () => {
  // Events are appended and projected at once, as with the log in Postgres. The last one of partition 1 is not
  // projected.
  let events = 5;
  const rowOf = (next: number): object => ({
    next: String(next),
    time: '0',
    base: '0',
    epoch: '0',
    logId: 'log',
    lastHash: null,
    halted: null,
    contradicted: false,
    caughtUp: true,
    held: '{}',
  });
  const log = { partitions: 2, bounds: async () => ({ start: 0n, end: BigInt(events) }) } as unknown as RecordLog;
  const pool = {
    query: async () => {
      const read = { rows: [{ ...rowOf(events), serverTime: '0' }, rowOf(5)] };
      events += 1;
      return read;
    },
  } as unknown as pg.Pool;
  const states = await readPartitionStates(log, { pool });
  expect(states.map(({ next, bounds, behind }) => [next, bounds.end, behind])).toEqual([
    [5n, 6n, 0n],
    [5n, 6n, 1n],
  ]);
});
