/**
 * `verify --by-digest`: goes on with the rebuilt read model that it kept, and finds differences in what has changed
 * since.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import { Database } from '../../src/storage/database/database.ts';
import type { Service } from '../../src/app/service.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import { endsOfLog, Rebuild } from '../../src/operations/replay/rebuild.ts';
import { verify, type Verification } from '../../src/operations/replay/verify.ts';
import { openOperator } from '../support/open-operator.ts';
import { chooseSeed } from '../support/random.ts';
import { runTablog } from '../support/tablog.ts';
import { DrivenTeam, logOf } from './driven-team.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

const options = { batchEvents: 500, signal: new AbortController().signal, onProgress: (): undefined => undefined };
let generated: GeneratedLog;
let service: Service;
let client: pg.Client;
let team: DrivenTeam;
let tableId: string;
let row: RowAddress;

beforeAll(async () => {
  generated = await createGeneratedLog({
    seed: chooseSeed(),
    teams: 2,
    eventsOfTeam: 150,
    blocksOfTeam: 4,
    rowsOfBlock: 50,
  });
  service = await openOperator(generated.environment, { projects: true });
  client = new pg.Client({ connectionString: generated.url });
  await client.connect();
  team = await DrivenTeam.create(logOf(service), 5);
  tableId = await team.table('{"n":1}');
  const rows = Array.from({ length: 40 }, (_, n) => `{"n":${n}}`);
  row = await team.add(tableId, 'block', ...rows);
  await team.add(tableId, 'block', ...rows);
});

afterAll(async () => {
  await client?.end();
  await service?.close();
  await generated?.drop();
});

function verifyByDigest(schema = readModelSchema): Promise<Verification> {
  return verify({ ...options, url: generated.url, log: generated.log, schema, byDigest: true });
}

/** Changes the stored body of the patched row, apart from the log. */
async function plant(n: number): Promise<void> {
  const { rowCount } = await client.query(
    `update ${readModelSchema}.changes set body = $2 where extent in (select key from ${readModelSchema}.extents where table_id = $1)`,
    [tableId, `{"n":${n}}`],
  );
  expect(rowCount).toBe(1);
}

async function keptSchemas(): Promise<string[]> {
  const { rows } = await client.query(
    `select nspname as name from pg_namespace where nspname like '%\\_verify' order by 1`,
  );
  return rows.map(({ name }) => name);
}

test('the first run keeps the rebuilt read model, without garbage, and drops that of another version', async () => {
  await client.query('create schema tablog_1_verify');
  const { differences, events, byDigest } = await verifyByDigest();
  expect(differences).toEqual([]);
  expect(byDigest).toEqual({ partitions: generated.log.partitions, newEvents: events, rowsRead: expect.any(Number) });
  expect(byDigest!.rowsRead).toBeGreaterThan(2 * 80);
  expect(await keptSchemas()).toEqual([`${readModelSchema}_verify`]);
  const kept = await Database.open({ url: generated.url, schema: `${readModelSchema}_verify` });
  try {
    expect(await removeGarbage(models, kept)).toBe(false);
  } finally {
    await kept.close();
  }
});

test('the next runs project new events only, and read what has changed', async () => {
  expect((await verifyByDigest()).byDigest).toMatchObject({ newEvents: 0, rowsRead: 0 });
  await team.patch(tableId, row, '{"n":-1}');
  // The extent of the patched row, on both sides.
  expect(await verifyByDigest()).toMatchObject({ differences: [], byDigest: { newEvents: 1, rowsRead: 2 * 40 } });
});

test('damage is found, and named, in what has changed since, not in what has not', async () => {
  await plant(-99);
  expect((await verifyByDigest()).differences).toEqual([]);
  await team.patch(tableId, row, '{"n":-2}');
  await plant(-98);
  const { code, stdout } = await runTablog(['verify', '--by-digest'], generated.environment);
  expect(code).toBe(1);
  expect(stdout).toMatch(
    new RegExp(
      `^The read model does not match the log. The first differences:\n(.*\n)*.*${tableId}.*: expected .*-2.*, found .*-98`,
    ),
  );
  expect(await keptSchemas()).toEqual([]);
});

test('after a difference nothing is kept: the next run begins anew', async () => {
  const again = await runTablog(['verify', '--by-digest', '--json'], generated.environment);
  expect(again.code).toBe(1);
  const found = JSON.parse(again.stdout);
  expect(found).toMatchObject({
    equal: false,
    newEvents: found.events,
    differences: [{ expected: '-2', found: '-98' }],
  });
  await plant(-2);
  const { code, stdout } = await runTablog(['verify', '--by-digest'], generated.environment);
  expect(code).toBe(0);
  const counts = `${generated.log.partitions} partitions of the read model match the log: ${found.events} new events of ${found.events}, `;
  expect(stdout).toMatch(new RegExp(`^By their digests, ${counts}\\d+ rows read, [\\d.]+ s\\.\n$`));
});

test('digests that differ although rows do not are reported, once', async () => {
  await client.query(`update ${readModelSchema}.digests set digest = 'none' where unit = $1 and part = ''`, [tableId]);
  const what = 'digest of contents of tables in partition 5';
  expect((await verifyByDigest()).differences).toEqual([expect.objectContaining({ what })]);
  const { differences, byDigest } = await verifyByDigest();
  expect(differences).toEqual([]);
  expect(byDigest!.newEvents).toBeGreaterThan(0);
});

test('`verify` without digests drops what was kept', async () => {
  expect(await keptSchemas()).not.toEqual([]);
  expect(await verify({ ...options, url: generated.url, log: generated.log })).toMatchObject({ differences: [] });
  expect(await keptSchemas()).toEqual([]);
});

test('a read model that was restored, and is behind what was kept, is compared with a new rebuild', async () => {
  const schema = 'restored';
  const ends = await endsOfLog(generated.log);
  for (const back of [0n, 1n]) {
    const restored = await Rebuild.begin({ ...options, url: generated.url, log: generated.log, schema });
    await restored.bringTo(new Map([...ends].map(([partition, end]) => [partition, end - back])));
    await restored.close();
    const { differences, events, byDigest } = await verifyByDigest(schema);
    expect(differences).toEqual([]);
    expect(byDigest!.newEvents).toBe(events);
  }
});
