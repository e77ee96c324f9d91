import { expect, test } from '@jest/globals';
import { OtherLeader } from '../../../../src/log/identity.ts';
import type { KafkaConnection } from '../../../../src/log/kafka/kafka-connection.ts';
import { KafkaReader } from '../../../../src/log/kafka/kafka-reader.ts';

const record = { partition: 0, offset: 0n, time: 0, bytes: Buffer.from('a') };

/** A reader of a log whose only partition is led by broker 1, as far as known. */
function readerOf(asked: string[]): KafkaReader {
  const connection: Pick<KafkaConnection, 'bounds' | 'leaders' | 'fetch'> = {
    bounds: async () => new Map([[0, { start: 0n, end: 1n, leader: '1' }]]),
    leaders: async () => new Map([['1', [0]]]),
    fetch: async (leader) => {
      asked.push(leader);
      return new Map([[0, { records: [record], end: 1n }]]);
    },
  };
  return new KafkaReader(connection as KafkaConnection, 1);
}

test('the log is read from the leader', async () => {
  const asked: string[] = [];
  const log = readerOf(asked).ledBy('1');
  expect(await log.bounds(0)).toEqual({ start: 0n, end: 1n });
  expect(await Array.fromAsync(log.read(0, 0n, 1n))).toEqual([[record]]);
  expect(asked).toEqual(['1']);
});

test('the log is not read from another broker', async () => {
  const asked: string[] = [];
  const log = readerOf(asked).ledBy('2');
  await expect(log.bounds(0)).rejects.toThrow(OtherLeader);
  await expect(Array.fromAsync(log.read(0, 0n, 1n))).rejects.toThrow(OtherLeader);
  expect(asked).toEqual([]);
});
