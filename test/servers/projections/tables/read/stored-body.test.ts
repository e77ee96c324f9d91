/** The SQL fragments and the TypeScript functions of read/stored-body.ts give the same form of a body. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  changedForm,
  formInSql,
  bodyFormOf,
  presenterOfForm,
} from '../../../../../projections/tables/read/stored-body.ts';
import { asStored, type BodyForm } from '../../../../../src/language/values/presentation.ts';
import { createDatabase } from '../../../../support/postgres.ts';

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

/** The form that a table whose last widening was at a version reads bodies by; null: they read as they are stored. */
async function formAt(
  extent: (typeof extents)[number],
  widened: bigint,
  change: bigint | null,
): Promise<BodyForm | null> {
  const {
    rows: [found],
  } = await client.query<{ form: string | null }>(
    `select ${formInSql('extents', 'coalesce($7::int8, extents.presented)', '$6::int8')} as form
      from (values ($1::int8, $2::bool, $3::int8, $4::bool, $5::int4)) as extents(presented, cells, schema_version,
      wrap, rule)`,
    [extent.presented, extent.cells, extent.schemaVersion, extent.wrap, extent.rule, widened, change],
  );
  let form: BodyForm | null = null;
  presenterOfForm(found!.form, (asked) => {
    form = asked;
    return asStored;
  });
  return form;
}

test.each(extents)('the stored form of an extent of %j is read back, unless it reads as it is', async (extent) => {
  expect(await formAt(extent, 8n, null)).toEqual(bodyFormOf(extent));
  expect(await formAt(extent, 7n, null)).toEqual(extent.presented === null ? bodyFormOf(extent) : null);
});

test.each(extents)(
  'the stored form of a change in an extent of %j is read back, unless it reads as it is',
  async (extent) => {
    const version = 2n ** 60n + 1n;
    expect(await formAt(extent, version + 1n, version)).toEqual(changedForm(version));
    expect(await formAt(extent, version, version)).toBeNull();
  },
);
