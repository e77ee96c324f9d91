/**
 * A replay decides what came too late as the first projection did, although brokers' clocks stepped back and it reads
 * the log in pieces.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database } from '../../src/storage/database/database.ts';
import { encodeEvent } from '../../src/language/events/event-codec.ts';
import type { EventData } from '../../src/language/events/event.ts';
import type { LogReader, LogRecord } from '../../src/log/event-log.ts';
import { encodeGenesis } from '../../src/log/identity.ts';
import { Rebuild } from '../../src/operations/replay/rebuild.ts';
import { createDatabase } from '../support/postgres.ts';

let created: Awaited<ReturnType<typeof createDatabase>>;

beforeAll(async () => {
  created = await createDatabase();
});

afterAll(async () => {
  await created?.drop();
});

const teamId = randomUUID();

function bytesOf(data: EventData, notAfter: number | null): Uint8Array {
  return encodeEvent({ commandId: randomUUID(), notAfter, requestDigest: null }, data).bytes;
}

/**
 * The records with the times that the brokers gave them. The clock was right, then far ahead, then right again: what
 * came last must count as written when the clock was ahead.
 */
const written: readonly LogRecord[] = [
  { time: 1000, bytes: encodeGenesis(randomUUID()) },
  { time: 2000, bytes: bytesOf({ type: 'TeamCreated', teamId, name: 'in time' }, 3000) },
  { time: 600_000, bytes: bytesOf({ type: 'TeamSuspended', teamId }, null) },
  { time: 4000, bytes: bytesOf({ type: 'TeamResumed', teamId }, 5000) },
  { time: 4500, bytes: bytesOf({ type: 'TeamCreated', teamId: randomUUID(), name: 'too late' }, 5000) },
].map(({ time, bytes }, at) => ({ partition: 0, offset: BigInt(at), time, bytes }));

/** As a reader of Kafka gives it: times never fall from where it begins to read. */
const log: LogReader = {
  partitions: 1,
  bounds: async () => ({ start: 0n, end: BigInt(written.length) }),
  read: async function* read(_partition, from, to) {
    let time = 0;
    for (const record of written.slice(Number(from), Number(to))) {
      time = Math.max(time, record.time);
      yield [{ ...record, time }];
    }
  },
  close: async () => undefined,
};

/** Builds a read model, and stops at each of these offsets: there another replay goes on, or the same one does. */
async function rebuild(
  schema: string,
  stops: readonly number[],
  goesOn: 'in another replay' | 'in the same replay',
): Promise<void> {
  const options = {
    url: created.url,
    schema,
    log,
    batchEvents: 10,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  };
  let rebuilding = await Rebuild.begin(options);
  for (const stop of [...stops, written.length]) {
    await rebuilding.bringTo(new Map([[0, BigInt(stop)]]));
    if (goesOn === 'in the same replay') continue;
    await rebuilding.close();
    rebuilding = await Rebuild.begin({ ...options, goesOn: true });
  }
  await rebuilding.close();
}

async function readAll(schema: string): Promise<unknown> {
  const database = await Database.open({ url: created.url, schema });
  try {
    const ask = async (query: string): Promise<unknown[]> => (await database.pool.query(query)).rows;
    return {
      outcomes: await ask('select command_id, time from outcomes order by command_id'),
      teams: await ask('select name, suspended from teams order by name'),
      progress: await ask('select next, time from progress'),
    };
  } finally {
    await database.close();
  }
}

test.each([[[3]], [[4]], [[1, 2, 3, 4]]])(
  'a replay that stops at %j and goes on decides as one that does not',
  async (stops) => {
    const whole = `whole_${stops.join('_')}`;
    await rebuild(whole, [], 'in the same replay');
    const expected = await readAll(whole);
    expect(expected).toMatchObject({
      teams: [{ name: 'in time', suspended: true }],
      progress: [{ next: '5', time: '600000' }],
    });
    for (const [at, goesOn] of (['in another replay', 'in the same replay'] as const).entries()) {
      const pieces = `${whole}_in_pieces_${at}`;
      await rebuild(pieces, stops, goesOn);
      expect(await readAll(pieces)).toEqual(expected);
    }
  },
);
