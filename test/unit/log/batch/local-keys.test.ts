import { expect, test } from '@jest/globals';
import type { Statement, StatementResult, Tx } from '../../../../src/storage/database/pipelined-client.ts';
import { LocalKeys } from '../../../../src/log/batch/local-keys.ts';

/** A sequence that hands out a thousand keys at a time, and answers a turn of the event loop later. */
function newSequence(): Tx {
  let next = 1n;
  return {
    query: async <Row extends object>(
      _statement: Statement<Row>,
      values?: readonly unknown[],
    ): Promise<StatementResult<Row>> => {
      const rows = Array.from({ length: values?.[0] as number }, () => {
        next += 1000n;
        return { first: next - 1000n };
      });
      await new Promise((resolve) => setImmediate(resolve));
      return { rows: rows as object[] as Row[], rowCount: rows.length, command: 'SELECT' };
    },
  };
}

test('simultaneous reservations never run out, and no key is given twice', async () => {
  const keys = new LocalKeys();
  const sequence = newSequence();
  const taken: bigint[] = [];
  await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const reserved = keys.open();
      await reserved.reserve(sequence, at * 40);
      for (let count = 0; count < at * 40; count += 1) taken.push(reserved.take());
      expect(() => reserved.take()).toThrow('more local keys than it had reserved');
    }),
  );
  expect(new Set(taken).size).toBe(taken.length);
});

test('an import of many chunks takes its keys at once', async () => {
  const reserved = new LocalKeys().open();
  const sequence = newSequence();
  const count = 300_000;
  await reserved.reserve(sequence, 10);
  await reserved.reserve(sequence, count);
  const taken = new Set(Array.from({ length: count + 10 }, () => reserved.take()));
  expect(taken.size).toBe(count + 10);
  expect(() => reserved.take()).toThrow('more local keys than it had reserved');
});
