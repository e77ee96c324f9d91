/** While a read model is filled, what the log overwrote long ago is removed after a minute, not after an hour of the clock. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database } from '../../src/database/database.ts';
import type { EncodedEvent } from '../../src/events/event.ts';
import type { LogReader, LogRecord } from '../../src/log/event-log.ts';
import { encodeGenesis } from '../../src/log/identity.ts';
import { Rebuild } from '../../src/replay/rebuild.ts';
import { createDatabase } from '../support/postgres.ts';
import { DrivenTeam, type DecidingLog } from './driven-team.ts';

const hour = 3_600_000;
let created: Awaited<ReturnType<typeof createDatabase>>;

beforeAll(async () => {
  created = await createDatabase();
});

afterAll(async () => {
  await created?.drop();
});

const records: LogRecord[] = [{ partition: 0, offset: 0n, time: 1, bytes: encodeGenesis(randomUUID()) }];

const log: LogReader = {
  partitions: 1,
  bounds: async () => ({ start: 0n, end: BigInt(records.length) }),
  read: async function* read(_partition, from, to) {
    yield records.slice(Number(from), Number(to));
  },
  close: async () => undefined,
};

function append(time: number, ...events: readonly EncodedEvent[]): void {
  for (const { bytes } of events) records.push({ partition: 0, offset: BigInt(records.length), time, bytes });
}

test('the rows of a generation that was replaced hours ago are removed while the log is still read', async () => {
  const schema = 'tablog_filled';
  const database = await Database.open({ url: created.url, schema });
  const deciding: DecidingLog = { database, project: async (_partition, time, events) => (append(time, ...events), []) };
  const team = await DrivenTeam.create(deciding);
  const tableId = randomUUID();
  append(hour, await team.creatingTable(tableId, '{"a":"first"}'), await team.adding(tableId, 'block', ['{"a":"old"}', '{"a":"older"}']));
  append(2 * hour, await team.overwriting(tableId, '{"a":"new"}'));
  append(4 * hour, team.event({ type: 'TeamSuspended', teamId: team.id }));
  const overwritten = records.length;
  for (let n = 0; n < 5; n += 1) append(4 * hour + n, team.event({ type: 'TeamResumed', teamId: team.id }));

  const rebuilding = await Rebuild.begin({ url: created.url, schema, log, batchEvents: 10, onProgress: () => undefined, signal: new AbortController().signal });
  try {
    await rebuilding.bringTo(new Map([[0, BigInt(overwritten)]]));
    await rebuilding.removeGarbage();
    const bodies = async (): Promise<readonly string[]> => (await database.pool.query<{ body: string }>('select body from segment_rows order by body')).rows.map(({ body }) => body);
    expect(await bodies()).toHaveLength(4);
    await database.pool.query(`update segments set idle_since = idle_since - interval '2 minutes'`);
    // Each time garbage is looked for at least once. A conflict with the projection puts it off.
    for (let end = overwritten + 1; end <= records.length && (await bodies()).length > 1; end += 1) await rebuilding.bringTo(new Map([[0, BigInt(end)]]), true);
    expect(await bodies()).toEqual(['{"a":"new"}']);
  } finally {
    await rebuilding.close();
    await database.close();
  }
});
