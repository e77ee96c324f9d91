import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Contradictions } from '../../../src/log/kafka/contradictions.ts';
import { LogMoved } from '../../../src/log/postgres/log-place.ts';
import type { Database } from '../../../src/storage/database/database.ts';
import {
  encodeGenesis,
  hashOf,
  OtherLeader,
  proveIdentityTwice,
  RecordsLost,
  type LedLog,
} from '../../../src/log/identity.ts';
import type { LogReader, LogRecord } from '../../../src/log/event-log.ts';

const logId = '01900000-0000-7000-8000-000000000000';
const records = [encodeGenesis(logId), Buffer.from('a'), Buffer.from('b')].map((bytes, at): LogRecord => ({
  partition: 0,
  offset: BigInt(at),
  time: 0,
  bytes,
}));
const remembered = { next: 3n, logId, lastHash: hashOf(records[2]!) };

/**
 * A partition, of which brokers have so many records. `leaders`: whom this process takes for the leader at first, and
 * at each request, in turn; from then on it is the last one. `found`: whom a search finds.
 */
class Led implements LedLog {
  readonly #has: Readonly<Record<string, number>>;
  readonly #leaders: string[];
  readonly #found: string;
  leader: string;

  constructor(has: Readonly<Record<string, number>>, [first, ...leaders]: readonly string[], found: string) {
    this.#has = has;
    this.#leaders = leaders;
    this.#found = found;
    this.leader = first!;
  }

  leaderOf(): string {
    return this.leader;
  }

  async findLeaderAnew(): Promise<string> {
    this.leader = this.#found;
    return this.#found;
  }

  async bounds(): Promise<{ readonly start: bigint; readonly end: bigint }> {
    return { start: 0n, end: BigInt(this.#ask()) };
  }

  async *read(_partition: number, from: bigint, to: bigint): AsyncGenerator<readonly LogRecord[]> {
    yield records.slice(Number(from), Math.min(Number(to), this.#ask()));
  }

  ledBy(leader: string): Pick<LogReader, 'read' | 'bounds'> {
    const only = new Led(this.#has, [leader], leader);
    only.#ask = () => this.#ask(leader);
    return only;
  }

  /** How many records the broker has that is asked. */
  #ask = (only?: string): number => {
    this.leader = this.#leaders.shift() ?? this.leader;
    if (only !== undefined && only !== this.leader) throw new OtherLeader(0);
    return this.#has[this.leader]!;
  };
}

describe('what is proved', () => {
  const cases: readonly (readonly [string, Led, string | null])[] = [
    ['the log is complete, by the broker that leads', new Led({ a: 3 }, ['a'], 'a'), 'a'],
    [
      'records are lost, if the leader that another broker names does not have them',
      new Led({ a: 2, b: 3 }, ['a'], 'a'),
      null,
    ],
    [
      'they are not, if a broker that was deposed was asked each time, although another one was found to lead',
      new Led({ a: 2, b: 3 }, ['a', 'a', 'a', 'a', 'a', 'a', 'b'], 'b'),
      'b',
    ],
    [
      'they are not, if a broker that was deposed was asked in between',
      new Led({ a: 2, b: 3 }, ['a', 'a', 'a', 'a', 'b'], 'b'),
      'b',
    ],
    [
      'they are, if a broker that was deposed gave the proof in between',
      new Led({ a: 3, b: 2 }, ['b', 'a', 'b', 'a', 'b'], 'b'),
      null,
    ],
  ];
  test.concurrent.each(cases)('an identity is proved: %s', async (_name, log, broker) => {
    const proved = proveIdentityTwice(log, 0, remembered);
    if (broker === null) await expect(proved).rejects.toThrow(RecordsLost);
    else expect(await proved).toBe(broker);
  });
});

test.each([
  ['that was deposed', ['a']],
  ['that was taken for the leader only meanwhile', ['b', 'a', 'a', 'a']],
])('an identity is not proved to a process that appends to another broker, by one %s', async (_name, leaders) => {
  const reader = new Led({ a: 3, b: 2 }, leaders, 'b');
  const { ledBy } = reader;
  reader.ledBy = (leader) => {
    const log = ledBy.call(reader, leader);
    return {
      bounds: log.bounds.bind(log),
      // It learns of its new leader while the last answer of the old one is under way.
      async *read(...range) {
        yield* log.read(...range);
        if (range[2] === remembered.next) reader.leader = 'b';
      },
    };
  };
  const row = {
    next: '3',
    time: '0',
    base: '0',
    epoch: '0',
    logId,
    lastHash: remembered.lastHash,
    halted: null,
    contradicted: false,
    caughtUp: true,
    held: '{}',
  };
  const contradictions = new Contradictions({
    partitions: 1,
    reader,
    logger: pino({ level: 'silent' }),
    found: new Map(),
    onFound: () => undefined,
    connection: {
      doubtsAbout: () => 1,
      doubtsWhileConnected: () => 1,
      reachLeader: async () => undefined,
      leaderOf: () => 'b',
      findLeaderAnew: async () => 'b',
    },
    database: { pool: { query: async () => ({ rows: [row] }) } } as unknown as Pick<Database, 'pool'>,
    requireReadModel: async () => undefined,
  });
  const proved = contradictions.prove(0).catch((error: Error) => Promise.reject(error.cause as Error));
  await expect(proved).rejects.toThrow('another broker than the one asked leads it');
});

test.each([
  ['notes that the log has lost records, for all', async () => undefined, 1],
  [
    'notes nothing once its log is not the present one any more',
    () => Promise.reject(new LogMoved('the log has moved')),
    0,
  ],
])('a process %s', async (_name, requireReadModel, noted) => {
  const queries: string[] = [];
  const contradictions = new Contradictions({
    partitions: 1,
    reader: new Led({ a: 3 }, ['a'], 'a'),
    logger: pino({ level: 'silent' }),
    onFound: () => undefined,
    requireReadModel,
    found: new Map([[0, new RecordsLost(0, 'it is too short')]]),
    connection: {
      doubtsAbout: () => 1,
      doubtsWhileConnected: () => 1,
      reachLeader: async () => undefined,
      leaderOf: () => 'a',
      findLeaderAnew: async () => 'a',
    },
    database: { pool: { query: async (text: string) => queries.push(text) } } as unknown as Pick<Database, 'pool'>,
  });
  expect(contradictions.of(0)).toContain('it is too short');
  await new Promise((resolve) => setImmediate(resolve));
  await contradictions.close();
  expect(queries).toHaveLength(noted);
});
