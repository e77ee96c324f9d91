/** The SQL fragments and the TypeScript functions of stored-body.ts give the same form of a body. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  changedForm,
  changedFormInSql,
  formInSql,
  formOf,
  parseForm,
} from '../../../../projections/tables/stored-body.ts';
import { createDatabase } from '../../../support/postgres.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const extents = [null, 7n].flatMap((presented) =>
  [true, false].flatMap((cells) =>
    [true, false].flatMap((wrap) =>
      ([1, 2, 3] as const).map((rule) => ({
        presented,
        cells,
        schemaVersion: 2n ** 60n + 1n,
        wrap,
        rule,
      })),
    ),
  ),
);

test.each(extents)('the stored form of an extent of %j is read back', async (extent) => {
  const {
    rows: [found],
  } = await client.query<{ form: string }>(
    `select ${formInSql('extents')} as form from (values ($1::int8, $2::bool, $3::int8, $4::bool, $5::int4)) as extents(presented, cells, schema_version, wrap, rule)`,
    [extent.presented, extent.cells, extent.schemaVersion, extent.wrap, extent.rule],
  );
  expect(parseForm(found!.form)).toEqual(formOf(extent));
});

test('the stored form of a change is read back', async () => {
  const {
    rows: [found],
  } = await client.query<{ form: string }>(`select ${changedFormInSql('$1::int8')} as form`, [2n ** 60n + 1n]);
  expect(parseForm(found!.form)).toEqual(changedForm(2n ** 60n + 1n));
});
