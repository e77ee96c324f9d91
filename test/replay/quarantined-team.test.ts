/**
 * Of a team in quarantine garbage collection keeps what its held events may look up, and maintenance tells the log
 * nothing.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openBody } from '../../commands/receive-block.ts';
import { createToken } from '../../commands/teams.ts';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models } from '../../projections/models.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { UploadQueries } from '../../projections/uploads/uploads.queries.ts';
import { teamOf } from '../../src/language/events/event-names.ts';
import type { FileStore } from '../../src/storage/files/file-store.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { expireBodies } from '../../src/operations/maintenance/expire-bodies.ts';
import { expireStashes } from '../../src/operations/maintenance/expire-stashes.ts';
import { tellRevocations } from '../../src/administration/tell-revocations.ts';
import { UploadMaintenance } from '../../src/operations/maintenance/upload-maintenance.ts';
import { newAccessToken } from '../../src/storage/security/access-token.ts';
import { createTokenNotes, noteRevocation } from '../../src/storage/security/token-notes.ts';
import { DrivenTeam, naming } from './driven-team.ts';
import { packRows } from './row-samples.ts';
import { useDrivenLog } from './use-driven-log.ts';

const log = useDrivenLog();
const hour = 3_600_000;
const partition = 0;
const row = '{"n":1}';

beforeAll(() => createTokenNotes(log().database.pool));

beforeEach(() => log().database.pool.query('delete from quarantines'));

async function hold({ id }: DrivenTeam, time: number): Promise<void> {
  await log().database.pool.query(
    `insert into quarantines (partition, team_id, failed_offset, reason, since, next, time, base, gaps)
      select partition, $2, next, 'planted', $3, next, $3, base, gaps from progress where partition = $1`,
    [partition, id, time],
  );
}

async function collectGarbage(): Promise<void> {
  while (await removeGarbage(models, log().database)) continue;
}

/** What is garbage some time after it was used. */
async function garbage(): Promise<Record<string, number>> {
  const { rows } = await log().database.pool
    .query(`select (select count(*)::int from generations where not expired) as replaced,
    (select count(*)::int from generations where expired) as expired, (select count(*)::int from body_blocks) as blocks,
    (select count(*)::int from stashes) as stashes, (select count(*)::int from outcomes) as outcomes`);
  return rows[0];
}

test('what was there when its first event was held stays, however late it is for others', async () => {
  const team = await DrivenTeam.create(log(), partition);
  const neighbour = await DrivenTeam.create(log(), partition);
  const tableId = await team.table(row);
  await team.chunk('stash', row);
  await team.project(1, [
    await team.overwriting(tableId, row),
    team.event({ type: 'StashDeleteRequested', teamId: team.id, stashId: 'stash' }),
  ]);
  // The first generation has ended for readers, the second is replaced.
  await neighbour.project(2 * hour, [await neighbour.creatingTable(randomUUID(), row)]);
  await collectGarbage();
  const { carried, body } = await packRows([row]);
  await team.project(2 * hour, [
    await team.overwriting(tableId, row),
    team.event(
      { type: 'BlockReceived', teamId: team.id, bodyId: randomUUID(), number: 0, segmentId: randomUUID(), ...carried },
      body,
    ),
  ]);
  const before = await garbage();
  expect(before).toMatchObject({ replaced: 1, expired: 1, blocks: 1, stashes: 1 });

  await hold(team, 2 * hour);
  await neighbour.project(1000 * hour, [await neighbour.creatingTable(randomUUID(), row)]);
  await collectGarbage();
  expect(await garbage()).toEqual({ ...before, outcomes: before['outcomes']! + 1 });

  await log().database.pool.query('delete from quarantines');
  await collectGarbage();
  expect(await garbage()).toEqual({ replaced: 0, expired: 0, blocks: 0, stashes: 0, outcomes: 1 });
});

test('maintenance appends what is due of its neighbour, and nothing of it', async () => {
  const { database } = log();
  const [team, neighbour] = [await DrivenTeam.create(log(), partition), await DrivenTeam.create(log(), partition)];
  const due = async (each: DrivenTeam): Promise<void> => {
    const [tokenId, bodyId] = [randomUUID(), randomUUID()];
    await each.chunk('stash', row);
    const [open, named] = [each.upload(), await each.uploaded()];
    await each.uploaded();
    await each.table(naming(named));
    await each.project(1000 * hour, [
      each.event(createToken(each.id, tokenId, 'token', hashToken(newAccessToken()))),
      each.creating(open),
      each.event(openBody(each.id, bodyId, { openMax: 5 })),
    ]);
    await noteRevocation(database.pool, tokenId);
  };
  await due(team);
  await due(neighbour);
  await hold(team, 1000 * hour);
  const now = 2000 * hour;
  const uploads = new UploadQueries(database);
  const appended: string[] = [];
  const telling = {
    partitions: 12,
    now: () => now,
    append: async (_partition, { event: { data } }) => {
      appended.push(`${data.type} ${teamOf(data)}`);
      return undefined as never;
    },
  } as Partial<EventLog> as EventLog;
  const told = async (): Promise<unknown> => {
    appended.splice(0);
    await expireStashes(database, telling);
    await expireBodies(database, telling);
    await tellRevocations(database, telling);
    const [late, { moved }] = [
      await uploads.due(now, 10),
      await uploads.claimsMoved('00000000-0000-0000-0000-000000000000', 100),
    ];
    return {
      appended: appended.toSorted(),
      late: late.map(({ teamId }) => teamId).toSorted(),
      moved: moved.map(({ teamId }) => teamId).toSorted(),
    };
  };
  const of = (...ids: readonly string[]): unknown => ({
    appended: ['BodyExpired', 'StashExpired', 'TokenRevoked']
      .flatMap((type) => ids.map((id) => `${type} ${id}`))
      .toSorted(),
    // An open one, and two that are completed. One of these is named.
    late: ids.flatMap((id) => [id, id, id]).toSorted(),
    moved: ids.toSorted(),
  });
  expect(await told()).toEqual(of(neighbour.id));
  await database.pool.query('delete from quarantines');
  expect(await told()).toEqual(of(team.id, neighbour.id));
});

test('no file is taken for an orphan while events are held, which may complete its upload', async () => {
  const { pool } = log().database;
  const removed: unknown[] = [];
  const orphan = { kind: 'file', name: 'orphan' } as const;
  const files: Partial<FileStore> = {
    belongsTo: async () => true,
    list: async function* list() {
      yield orphan;
    },
    remove: async (object) => void removed.push(object),
  };
  const maintenance = new UploadMaintenance({
    log: { bounds: async () => ({ start: 0n, end: 0n }) } as Partial<EventLog> as EventLog,
    uploads: new UploadQueries(log().database),
    files: files as FileStore,
    logger: { warn: () => undefined },
  });
  const collect = async (): Promise<void> => {
    while (await maintenance.removeOrphans()) continue;
  };
  await pool.query('update progress set log_id = $1', [randomUUID()]);
  await pool.query('update progress set held = $1 where partition = 3', [JSON.stringify({ [randomUUID()]: 1 })]);
  await collect();
  expect(removed).toEqual([]);
  await pool.query(`update progress set held = '{}'`);
  await collect();
  expect(removed).toEqual([orphan]);
});
