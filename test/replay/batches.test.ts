/** Replay gives the same read model however the log is cut into batches, and the generated logs cover every case. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { columnName } from '../../src/storage/database/rows-statement.ts';
import { decodeEvent } from '../../src/language/events/event-codec.ts';
import type { EventType } from '../../src/language/events/event.ts';
import { quotas } from '../../src/language/events/quota.ts';
import type { RefusalType } from '../../src/language/values/refusal.ts';
import { verify } from '../../src/operations/replay/verify.ts';
import { chooseSeed } from '../support/random.ts';
import { createGeneratedLog, openReadModel, type GeneratedLog } from './generated-log.ts';

let generated: GeneratedLog;

beforeAll(async () => {
  generated = await createGeneratedLog({
    seed: chooseSeed(),
    teams: 14,
    eventsOfTeam: 300,
    blocksOfTeam: 8,
    rowsOfBlock: 150,
  });
});

afterAll(async () => {
  await generated?.drop();
});

test.each([1, 500])('a read model that was written live is what replay in batches of %d gives', async (batchEvents) => {
  const { differences, events } = await verify({
    url: generated.url,
    log: generated.log,
    batchEvents,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  expect(differences).toEqual([]);
  expect(events).toBeGreaterThan(generated.events);
});

// One key per type, so that a new type which is not generated does not compile.
const eventTypes: Record<EventType, true> = {
  GenerationStarted: true,
  LogResumed: true,
  TeamCreated: true,
  TeamSuspended: true,
  TeamResumed: true,
  TeamPlanSet: true,
  TokenCreated: true,
  TokenRevoked: true,
  RequestRefused: true,
  BodyOpenRequested: true,
  BodyExpired: true,
  BlockReceived: true,
  ChunkPutRequested: true,
  StashDeleteRequested: true,
  StashExpired: true,
  UploadCreateRequested: true,
  UploadCompleteRequested: true,
  UploadDeleteRequested: true,
  UploadChecked: true,
  TableCreateRequested: true,
  TablePatchRequested: true,
  TableDeleteRequested: true,
  TableOverwriteRequested: true,
  RowsAddRequested: true,
  RowPatchRequested: true,
  RowDeleteRequested: true,
  TableBatchRequested: true,
};
const refusalTypes: Record<RefusalType, true> = {
  request_validation_error: true,
  limit_exceeded: true,
  payment_required: true,
  table_not_found: true,
  row_not_found: true,
  stash_not_found: true,
  precondition_failed: true,
  column_id_not_found: true,
  column_has_invalid_value: true,
  column_id_reserved: true,
  column_id_not_unique: true,
  key_not_unique: true,
  upload_not_found: true,
  payload_too_large: true,
};

test('a generated log holds every kind of event, refusals of every kind, and what is repeated, late, widened and wrapped', async () => {
  const database = await openReadModel(generated.url);
  try {
    const found = { types: new Set<string>(), commands: new Set<string>(), records: 0 };
    for (let partition = 0; partition < generated.log.partitions; partition += 1) {
      const { end } = await generated.log.bounds(partition);
      for await (const records of generated.log.read(partition, 0n, end)) {
        for (const { bytes } of records) {
          const { commandId, data } = decodeEvent(bytes);
          found.types.add(data.type);
          found.commands.add(commandId);
          found.records += 1;
        }
      }
    }
    const count = async (query: string): Promise<number> => Number((await database.pool.query(query)).rows[0].count);
    const refusals = await database.pool.query(
      `select distinct detail::json -> 'refusal' ->> 'type' as type from outcomes where detail like '{"refusal"%'`,
    );
    expect([...found.types].toSorted()).toEqual(Object.keys(eventTypes).toSorted());
    expect(refusals.rows.map(({ type }) => String(type)).toSorted()).toEqual(Object.keys(refusalTypes).toSorted());
    // Repeated commands, and late ones, which have no outcome.
    expect(found.records).toBeGreaterThan(found.commands.size);
    expect(found.commands.size).toBeGreaterThan(await count('select count(*) from outcomes'));
    expect(await count('select count(*) from tables where widened > 0')).toBeGreaterThan(0);
    expect(await count('select count(*) from tables where deleted')).toBeGreaterThan(0);
    expect(await count('select count(*) from extents where wrap and presented is null')).toBeGreaterThan(0);
    expect(await count('select count(*) from extents where ordinal > 0')).toBeGreaterThan(0);
    expect(await count('select count(*) from generations')).toBeGreaterThan(0);
    expect(
      await count('select count(*) from extents join retained_ids using (segment) where retained is not null'),
    ).toBeGreaterThan(0);
    expect(await count('select count(distinct partition) from teams')).toBeGreaterThan(3);
    expect(await count('select count(*) from stashes where ended_at is null')).toBeGreaterThan(0);
    expect(await count('select count(*) from stashes where ended_at is not null')).toBeGreaterThan(0);
    expect(await count('select count(*) from extents join chunk_blocks using (segment)')).toBeGreaterThan(0);
    expect(await count(`select count(*) from uploads where file is null`)).toBeGreaterThan(0);
    // Claimed by a row when checked; unclaimed; given up as unclaimed; given up as too large; never completed.
    expect(
      await count(
        'select count(*) from uploads where file is not null and unclaimed_since is null and removed_at is null',
      ),
    ).toBeGreaterThan(0);
    expect(
      await count('select count(*) from uploads where unclaimed_since is not null and removed_at is null'),
    ).toBeGreaterThan(0);
    expect(
      await count('select count(*) from uploads where unclaimed_since is not null and removed_at is not null'),
    ).toBeGreaterThan(0);
    expect(
      await count('select count(*) from uploads where size > size_max and removed_at is not null'),
    ).toBeGreaterThan(0);
    expect(await count('select count(*) from uploads where file is null and removed_at is not null')).toBeGreaterThan(
      0,
    );
    expect(await count(`select count(*) from outcomes where detail like '%bytes of files%'`)).toBeGreaterThan(0);
    expect(await count(`select count(*) from outcomes where detail like '%open uploads%'`)).toBeGreaterThan(0);
    expect(await count('select count(*) from teams where open_uploads > 0')).toBeGreaterThan(0);
    expect(
      await count(`select count(*) from teams where open_uploads <> (
      select count(*) from uploads where team_id = teams.id and file is null and removed_at is null)`),
    ).toBe(0);
    // References in rows of blocks, of tails and of patches.
    for (const kind of ['is not null', 'is null']) {
      expect(
        await count(
          `select count(*) from file_references join segment_rows using (segment, index) where version ${kind}`,
        ),
      ).toBeGreaterThan(0);
    }
    expect(await count('select count(*) from change_references')).toBeGreaterThan(0);
    for (const kind of ['is not null', 'is null']) {
      const changed = `select count(*) from changes join extents on extents.key = extent
        join segment_rows rows on rows.segment = extents.segment and rows.index = changes.index`;
      expect(await count(`${changed} where rows.version is not null and changes.body ${kind}`)).toBeGreaterThan(0);
      expect(await count(`${changed} where rows.version is null and changes.body ${kind}`)).toBeGreaterThan(0);
    }
  } finally {
    await database.close();
  }
});

test('what teams use of each quota is what there is', async () => {
  const database = await openReadModel(generated.url);
  try {
    const { rows } = await database.pool.query<Record<string, unknown>>(`
      select id, rows, tables, stashes, open_bodies, open_uploads, open_upload_bytes, upload_bytes from teams
      except
      select id,
        (select coalesce(sum(rows), 0) from tables where team_id = teams.id and not deleted),
        (select count(*) from tables where team_id = teams.id and not deleted),
        (select count(*) from stashes where team_id = teams.id and ended_at is null),
        (select count(*) from open_bodies where team_id = teams.id),
        (select count(*) from uploads where team_id = teams.id and file is null and removed_at is null),
        (select coalesce(sum(size_max), 0) from uploads where team_id = teams.id and file is null
        and removed_at is null),
        (select coalesce(sum(size), 0) from uploads where team_id = teams.id and file is not null
        and removed_at is null)
      from teams`);
    expect(rows).toEqual([]);
    const {
      rows: [used],
    } = await database.pool.query<Record<string, number>>(
      `select ${quotas.map((quota) => `sum(${columnName(quota)})::float8 as "${quota}"`).join(', ')} from teams`,
    );
    for (const quota of quotas) expect([quota, used![quota]! > 0]).toEqual([quota, true]);
  } finally {
    await database.close();
  }
});
