/**
 * A table forgets its replaced generations, but not which row IDs they issued. Each event is also projected into a
 * second read model, whose garbage nobody collects: it must come to the same outcomes, and both must compare as equal.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { compareReadModels } from '../../src/log/compare/compare.ts';
import { digestReadModel } from '../../src/log/compare/digest.ts';
import { Snapshot } from '../../src/log/compare/snapshot.ts';
import { removeGarbage } from '../../src/log/garbage.ts';
import { createReadModel } from '../../src/log/read-model.ts';
import { models, readModelSchema, readTablesSql } from '../../projections/models.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import { createDatabase } from '../support/postgres.ts';
import { DrivenLog, DrivenTeam, type DecidingLog } from './driven-team.ts';
import { openReadModel } from './generated-log.ts';

const day = 86_400_000;

interface OwnLog {
  readonly url: string;
  readonly log: DrivenLog;
  close(): Promise<void>;
}

async function openOwnLog(): Promise<OwnLog> {
  const { url, drop } = await createDatabase();
  const database = await openReadModel(url);
  await createReadModel(readTablesSql, database, 12);
  return {
    url,
    log: new DrivenLog(database),
    close: async () => {
      await database.close();
      await drop();
    },
  };
}

let collected: OwnLog;
let kept: OwnLog;
let both: DecidingLog;

beforeAll(async () => {
  [collected, kept] = await Promise.all([openOwnLog(), openOwnLog()]);
  both = {
    database: collected.log.database,
    project: async (...batch) => {
      const [outcomes, expected] = await Promise.all([collected.log.project(...batch), kept.log.project(...batch)]);
      expect(outcomes).toEqual(expected);
      return outcomes;
    },
  };
});

afterAll(async () => {
  await Promise.all([collected?.close(), kept?.close()]);
});

/** As if it were two hours later for segments, which are judged by the clock of Postgres. */
async function collect(): Promise<void> {
  const idle = models.segments.garbage['idle_segments']!;
  while ((await removeGarbage(models, both.database)) || (await idle(both.database, 7_200_000)) > 0);
}

async function count(of: string): Promise<number> {
  return (await both.database.pool.query<{ count: number }>(`select count(*)::int as count from ${of}`)).rows[0]!.count;
}

/** How the collected read model differs from the other one. */
async function differences(): Promise<readonly string[]> {
  const snapshots = await Promise.all([kept, collected].map(({ url }) => Snapshot.open(url, readModelSchema)));
  try {
    const compared = await compareReadModels(models, (compare) => compare(snapshots[0]!, snapshots[1]!));
    return compared.differences.map(({ what }) => what);
  } finally {
    await Promise.all(snapshots.map((snapshot) => snapshot.close()));
  }
}

async function digestsOf({ url }: OwnLog): Promise<unknown> {
  return (await digestReadModel(models, { url, schema: readModelSchema, signal: new AbortController().signal }))
    .partitions;
}

async function expectEqual(): Promise<void> {
  expect(await differences()).toEqual([]);
  expect(await digestsOf(collected)).toEqual(await digestsOf(kept));
}

/** A row with this ID. */
const withId = (row: RowAddress): string => `{"$rowID":"${formatRowId(row)}","n":0}`;

/** The addresses of rows that an overwrite added: those that retain an ID have another one. */
function addressOf(outcome: Outcome): RowAddress {
  if (outcome.status !== 'applied') throw new Error(JSON.stringify(outcome));
  const { version, ordinal, first } = outcome.result.rows![0]!;
  return { version, ordinal, index: first };
}

const at = (row: RowAddress, index: number): RowAddress => ({ ...row, index });

test('an overwrite may come with each row ID that a forgotten generation issued, and with no other', async () => {
  const team = await DrivenTeam.create(both);
  const tableId = await team.table();
  const overwrite = async (time: number, ...rows: readonly string[]): Promise<Outcome> =>
    (await both.project(0, time, [await team.overwriting(tableId, ...rows)]))[0]!;
  const plain = addressOf(await overwrite(day, '{"n":1}', '{"n":2}', '{"n":3}'));
  const joined = await team.add(tableId, 'few', '{"n":4}');
  const block = await team.add(tableId, 'block', '{"n":5}', '{"n":6}');
  await team.deleteRow(tableId, at(block, 1));
  const mixed = addressOf(await overwrite(2 * day, withId(at(plain, 2)), '{"n":7}', withId(at(plain, 0))));
  const retaining = addressOf(await overwrite(3 * day, withId(at(plain, 0)), withId(at(mixed, 1))));
  const linked = addressOf(await overwrite(4 * day, '{"n":8}'));
  const other = await team.table('{"n":9}');
  expect(joined).toMatchObject({ version: plain.version, index: 3 });

  const cases: readonly (readonly [what: string, rows: readonly string[], status: Outcome['status']])[] = [
    ['a row of the first generation', [withId(at(plain, 1))], 'applied'],
    ['rows that another generation retained', [withId(at(plain, 2)), withId(at(plain, 0))], 'applied'],
    ['a row that joined its tail', [withId(joined)], 'applied'],
    ['a row of a block, and one that was deleted', [withId(block), withId(at(block, 1))], 'applied'],
    ['the only row of an extent that issued an ID', [withId(at(mixed, 1))], 'applied'],
    ['rows of all generations', [withId(linked), withId(at(plain, 0)), withId(at(mixed, 1)), withId(block)], 'applied'],
    ['the place of a row that retained another ID', [withId(at(mixed, 0))], 'refused'],
    ['the place of a row in a generation that issued none', [withId(at(retaining, 0))], 'refused'],
    ['a place behind the rows', [withId(at(plain, 4))], 'refused'],
    ['an ordinal that was not used', [withId({ ...plain, ordinal: 1 })], 'refused'],
    ['a version that was not used', [withId({ ...plain, version: plain.version + 100_000n })], 'refused'],
    ['a version before all others', [withId({ ...plain, version: 0n })], 'refused'],
    ['a row twice', [withId(plain), withId(plain)], 'refused'],
  ];
  const answers = async (time: number): Promise<unknown> => {
    const found: Outcome[] = [];
    for (const [, rows] of cases) found.push(await overwrite(time, ...rows));
    expect(found.map(({ status }, place) => [cases[place]![0], status])).toEqual(
      cases.map(([what, , status]) => [what, status]),
    );
    return found.map((outcome) => (outcome.status === 'refused' ? outcome.refusal : null));
  };
  const before = await answers(5 * day);
  await both.project(0, 30 * day, [await team.overwriting(tableId, '{"n":10}')]);
  expect(await count('extents')).toBeGreaterThan(10);
  await collect();
  // Those of the present generations of both tables, and of the one that was replaced last.
  expect(await count('extents')).toBe(3);
  expect(await count('segments')).toBeLessThanOrEqual(3);
  expect(await count('generations')).toBe(1);
  expect(await count('issued_ids')).toBe(1);
  await expectEqual();
  expect(await answers(31 * day)).toEqual(before);
  await expectEqual();

  await both.project(0, 60 * day, [await team.overwriting(tableId, '{"n":11}'), team.deletingTable(other)]);
  await collect();
  await expectEqual();
  expect(await answers(61 * day)).toEqual(before);
  await expectEqual();
});

test('many generations are forgotten at once, and a body may come with row IDs of all of them', async () => {
  const team = await DrivenTeam.create(both, 1);
  const tableId = await team.table();
  const generations = 1200;
  const addresses: RowAddress[] = [];
  for (let done = 0; done < generations; done += 100) {
    const events = await Promise.all(
      Array.from({ length: 100 }, (_, place) => team.overwriting(tableId, `{"n":${done + place}}`, '{"n":0}')),
    );
    for (const outcome of await both.project(1, (1 + done / 400) * day, events)) addresses.push(addressOf(outcome));
  }
  await both.project(1, 17 * day, [await team.overwriting(tableId, '{"n":0}')]);
  // Some generations are old enough, and others are not.
  await collect();
  await expectEqual();
  await both.project(1, 40 * day, [await team.overwriting(tableId, '{"n":0}')]);
  const { cleared_generations: forget } = models.tables.garbage;
  for (const kind of ['ended_generations', 'changes_of_ended_generations'])
    while (await models.tables.garbage[kind]!(both.database, 0));
  let steps = 0;
  while (await forget!(both.database, 0)) steps += 1;
  expect(steps).toBeLessThan(10);
  await collect();
  await expectEqual();
  const { rows: packs } = await both.database.pool.query<{ entries: number; bytes: number }>(
    'select cardinality(versions) as entries, pg_column_size(issued_ids) as bytes from issued_ids where table_id = $1',
    [tableId],
  );
  expect(packs.length).toBeLessThanOrEqual(Math.ceil(generations / 256) + 1);
  expect(packs.reduce((sum, { entries }) => sum + entries, 0)).toBe(generations);
  expect(packs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(16 * generations);

  const bodyId = randomUUID();
  await team.project(40 * day, [
    await team.sendingBlock(
      bodyId,
      0,
      addresses.slice(0, 700).map((row) => withId(row)),
    ),
    await team.sendingBlock(
      bodyId,
      1,
      addresses.slice(700).map((row) => withId(at(row, 1))),
    ),
  ]);
  await team.project(40 * day, [team.overwritingByBody(tableId, bodyId, 2)]);
  await expectEqual();
});

test('comparison and digest tell a changed entry from the one that was issued', async () => {
  const client = new pg.Client({ connectionString: collected.url, options: `-c search_path=${readModelSchema}` });
  await client.connect();
  try {
    await expectEqual();
    await client.query(
      'update issued_ids set rows[1] = rows[1] + 1 where (table_id, version) in (select table_id, version from issued_ids limit 1)',
    );
    expect(await differences()).toEqual([
      expect.stringMatching(/^the row IDs that table \S+ issued by its forgotten extent \d+ 0: rows$/),
    ]);
  } finally {
    await client.end();
  }
});
