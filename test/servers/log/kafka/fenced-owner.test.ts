/**
 * A process that proves the log before it appends fences the owner of the partition off: what that one has read, and
 * the log has lost since, is not stored any more, at the offsets that the next events take.
 */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Contradictions } from '../../../../src/log/kafka/contradictions.ts';
import { PartitionProjection } from '../../../../src/log/kafka/partition-projection.ts';
import { readProgressOf, takeOverPartition } from '../../../../src/log/progress/progress.store.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { models } from '../../../../projections/models.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import { encodeGenesis, type LedLog } from '../../../../src/log/identity.ts';
import type { LogRecord } from '../../../../src/log/event-log.ts';
import { useReadModel } from '../../../support/read-model.ts';

const partition = 0;
const { database, closers } = useReadModel(1, 'file');

/** The log that the first test has projected. */
let projected: LedLog | undefined;

const recordAt = (offset: bigint): LogRecord => {
  const data = { type: 'TeamCreated', teamId: randomUUID(), name: 'team' } as const;
  const bytes =
    offset === 0n
      ? encodeGenesis(randomUUID())
      : encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data).bytes;
  return { partition, offset, time: 1, bytes };
};

test('an owner stores nothing that it read before another process proved the log', async () => {
  const { pool } = database();
  const [first, second, lost] = [0n, 1n, 2n].map(recordAt) as [LogRecord, LogRecord, LogRecord];
  let settled = Promise.withResolvers<string>();
  const projection = new PartitionProjection({
    partition,
    position: await readProgressOf(pool, partition),
    database: database(),
    projector: new Projector(models),
    withNotification: async (_records, _outcomes, store) => {
      await store(null);
      return false;
    },
    onProjected: () => settled.resolve('projected'),
    onLost: () => settled.resolve('lost'),
    onHalted: (_offset, error) => settled.reject(error),
  });
  closers.push(() => projection.close());
  projection.offer([first, second]);
  expect(await settled.promise).toBe('projected');

  const log: LedLog = {
    bounds: async () => ({ start: 0n, end: lost.offset }),
    async *read(_partition, from, to) {
      yield [first, second].slice(Number(from), Number(to));
    },
    leaderOf: () => '1',
    findLeaderAnew: async () => '1',
    ledBy: () => log,
  };
  projected = log;
  const contradictions = new Contradictions({
    partitions: 1,
    reader: log,
    database: database(),
    logger: pino({ level: 'silent' }),
    found: new Map(),
    onFound: () => undefined,
    connection: {
      doubtsAbout: () => 1,
      doubtsWhileConnected: () => 1,
      reachLeader: async () => undefined,
      leaderOf: () => '1',
      findLeaderAnew: async () => '1',
    },
    requireReadModel: async () => undefined,
  });
  closers.push(() => contradictions.close());
  await contradictions.prove(partition);

  settled = Promise.withResolvers();
  projection.offer([lost]);
  expect(await settled.promise).toBe('lost');
  expect((await readProgressOf(pool, partition)).next).toBe(lost.offset);
});

test('a takeover serves a process as a fence if it came after its last doubt, while it was connected', async () => {
  const { pool } = database();
  let doubts = 1;
  let isConnected = true;
  const contradictions = new Contradictions({
    partitions: 1,
    reader: projected!,
    database: database(),
    logger: pino({ level: 'silent' }),
    found: new Map(),
    onFound: () => undefined,
    requireReadModel: async () => undefined,
    connection: {
      doubtsAbout: () => doubts,
      doubtsWhileConnected: () => (isConnected ? doubts : null),
      reachLeader: async () => undefined,
      leaderOf: () => '1',
      findLeaderAnew: async () => '1',
    },
  });
  closers.push(() => contradictions.close());
  const epoch = async (): Promise<bigint> => (await readProgressOf(pool, partition)).epoch;

  await contradictions.watchEpochs();
  const { epoch: taken } = await takeOverPartition(pool, partition);
  await contradictions.prove(partition);
  expect(await epoch()).toBe(taken);

  doubts += 1;
  isConnected = false;
  await takeOverPartition(pool, partition);
  const before = await epoch();
  await expect(contradictions.prove(partition)).rejects.toThrow('it is not certain');
  expect(await epoch()).toBe(before);

  isConnected = true;
  await contradictions.prove(partition);
  const fenced = await epoch();
  expect(fenced).toBeGreaterThan(before);
  await contradictions.prove(partition);
  expect(await epoch()).toBe(fenced);
});
