import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Contradictions } from '../../../projections/engine/kafka/contradictions.ts';
import type { Database } from '../../../src/database/database.ts';
import { encodeGenesis, hashOf, proveIdentityTwice, RecordsLost, type LedLog } from '../../../src/log/identity.ts';
import type { LogRecord } from '../../../src/log/event-log.ts';

const logId = '01900000-0000-7000-8000-000000000000';
const records = [encodeGenesis(logId), Buffer.from('a'), Buffer.from('b')]
  .map((bytes, at): LogRecord => ({ partition: 0, offset: BigInt(at), time: 0, bytes }));
const remembered = { next: 3n, logId, lastHash: hashOf(records[2]!) };

/** A partition, of which two brokers have so many records. `leaders`: whom each look at the bounds asks; `found`: whom a search finds. */
class Led implements LedLog {
  readonly #has: Readonly<Record<string, number>>;
  readonly #leaders: string[];
  readonly #found: string;
  leader: string;

  constructor(has: Readonly<Record<string, number>>, leaders: string[], found: string) {
    this.#has = has;
    this.#leaders = leaders;
    this.#found = found;
    this.leader = leaders[0]!;
  }

  leaderOf(): string {
    return this.leader;
  }

  async findLeaderAnew(): Promise<void> {
    this.leader = this.#found;
  }

  async bounds(): Promise<{ readonly start: bigint; readonly end: bigint }> {
    this.leader = this.#leaders.shift() ?? this.leader;
    return { start: 0n, end: BigInt(this.#has[this.leader]!) };
  }

  async *read(_partition: number, from: bigint, to: bigint): AsyncGenerator<readonly LogRecord[]> {
    yield records.slice(Number(from), Math.min(Number(to), this.#has[this.leader]!));
  }
}

test('records are lost if the leader that another broker names does not have them', async () => {
  await expect(proveIdentityTwice(new Led({ a: 2, b: 3 }, ['a', 'a'], 'a'), 0, remembered)).rejects.toThrow(RecordsLost);
});

test('they are not if a broker that was deposed was asked each time, although another one was found to lead', async () => {
  await proveIdentityTwice(new Led({ a: 2, b: 3 }, ['a', 'a', 'a'], 'b'), 0, remembered);
});

test('nothing is proved if another broker gave the proof than leads in the end', async () => {
  const reader = new Led({ a: 3, b: 2 }, ['a'], 'b');
  // It learns of its new leader while the last answer of the old one is under way.
  const { read } = reader;
  reader.read = async function* late(this: Led, ...range): AsyncGenerator<readonly LogRecord[]> {
    yield* read.apply(reader, range);
    if (range[2] === 3n) reader.leader = 'b';
  };
  const row = { next: '3', time: '0', base: '0', epoch: '0', logId, lastHash: remembered.lastHash, halted: null, contradicted: false, caughtUp: true, held: '{}' };
  const contradictions = new Contradictions({
    partitions: 1, reader, logger: pino({ level: 'silent' }), found: new Map(), onFound: () => undefined,
    connection: { doubtsAbout: () => 1, leaderOf: () => 'b', findLeaderAnew: async () => undefined },
    database: { pool: { query: async () => ({ rows: [row] }) } } as unknown as Pick<Database, 'pool'>,
  });
  const proved = contradictions.prove(0).catch((error: Error) => Promise.reject(error.cause as Error));
  await expect(proved).rejects.toThrow('another broker leads it than was asked at first');
});
