/**
 * While a read model is filled, garbage is removed by the clock much sooner than while it serves: a fill reads what
 * took years within an hour.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Database } from '../../src/storage/database/database.ts';
import type { EncodedEvent } from '../../src/language/events/event.ts';
import type { LogReader, LogRecord } from '../../src/log/event-log.ts';
import { encodeGenesis } from '../../src/log/identity.ts';
import { Rebuild } from '../../src/operations/replay/rebuild.ts';
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

let records: LogRecord[];

beforeEach(() => {
  records = [{ partition: 0, offset: 0n, time: 1, bytes: encodeGenesis(randomUUID()) }];
});

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
  const deciding: DecidingLog = {
    database,
    project: async (_partition, time, events) => (append(time, ...events), []),
  };
  const team = await DrivenTeam.create(deciding);
  const tableId = randomUUID();
  append(
    hour,
    await team.creatingTable(tableId, '{"a":"first"}'),
    await team.adding(tableId, 'block', ['{"a":"old"}', '{"a":"older"}']),
  );
  append(2 * hour, await team.overwriting(tableId, '{"a":"new"}'));
  append(4 * hour, team.event({ type: 'TeamSuspended', teamId: team.id }));
  const overwritten = records.length;
  for (let n = 0; n < 5; n += 1) append(4 * hour + n, team.event({ type: 'TeamResumed', teamId: team.id }));

  const rebuilding = await Rebuild.begin({
    url: created.url,
    schema,
    log,
    batchEvents: 10,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  try {
    await rebuilding.bringTo(new Map([[0, BigInt(overwritten)]]));
    await rebuilding.removeGarbage();
    const bodies = async (): Promise<readonly string[]> =>
      (await database.pool.query<{ body: string }>('select body from segment_rows order by body')).rows.map(
        ({ body }) => body,
      );
    expect(await bodies()).toHaveLength(4);
    await database.pool.query(`update segments set idle_since = idle_since - interval '2 minutes'`);
    // Each time garbage is looked for at least once. A conflict with the projection puts it off.
    for (let end = overwritten + 1; end <= records.length && (await bodies()).length > 1; end += 1)
      await rebuilding.bringTo(new Map([[0, BigInt(end)]]), true);
    expect(await bodies()).toEqual(['{"a":"new"}']);
  } finally {
    await rebuilding.close();
    await database.close();
  }
});

test('replaced bodies and superseded schemas are removed while the log is still read, too', async () => {
  const schema = 'tablog_patched';
  const database = await Database.open({ url: created.url, schema });
  const deciding: DecidingLog = {
    database,
    project: async (_partition, time, events) => (append(time, ...events), []),
  };
  const team = await DrivenTeam.create(deciding);
  const tableId = randomUUID();
  append(hour, await team.creatingTable(tableId), await team.adding(tableId, 'block', ['{"a":"old"}', '{"a":"kept"}']));
  const row = { version: BigInt(records.length - 1), ordinal: 0, index: 0 };
  append(hour, await team.patching(tableId, row, '{"a":"new"}'), team.renamingColumn(tableId, 'another'));
  const patched = records.length;
  for (let n = 0; n < 5; n += 1) append(4 * hour + n, team.event({ type: 'TeamResumed', teamId: team.id }));

  const rebuilding = await Rebuild.begin({
    url: created.url,
    schema,
    log,
    batchEvents: 10,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  try {
    await rebuilding.bringTo(new Map([[0, BigInt(patched)]]));
    const kept = async (): Promise<unknown> =>
      (
        await database.pool.query(
          `select (select string_agg(body, ' ' order by body) from segment_rows) as bodies, (select count(*)::int from table_schemas) as schemas`,
        )
      ).rows[0];
    expect(await kept()).toEqual({ bodies: '{"a":"kept"} {"a":"old"}', schemas: 2 });
    await database.pool.query(`update extents set erase_at = erase_at - interval '11 minutes'`);
    await database.pool.query(`update table_schemas set look_at = look_at - interval '11 minutes'`);
    // Each time garbage is looked for at least once. A conflict with the projection puts it off.
    for (let end = patched + 1; end <= records.length && (await held('old')); end += 1)
      await rebuilding.bringTo(new Map([[0, BigInt(end)]]), true);
    expect(await kept()).toEqual({ bodies: '{"a":"kept"} {}', schemas: 1 });
  } finally {
    await rebuilding.close();
    await database.close();
  }

  async function held(text: string): Promise<boolean> {
    return (await database.pool.query('select from segment_rows where strpos(body, $1) > 0', [text])).rowCount! > 0;
  }
});
