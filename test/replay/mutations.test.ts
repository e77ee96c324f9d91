/** `verify` reports every alteration of a read model that clients or decisions could see. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  BigIntType,
  BooleanType,
  IntegerType,
  StringType,
  TextType,
  UuidType,
  type EntityProperty,
  type EntitySchema,
} from '@mikro-orm/core';
import pg from 'pg';
import { models, readModelSchema } from '../../projections/models.ts';
import { OpenBodyEntity } from '../../projections/segments/segment.entity.ts';
import { TableEntity } from '../../projections/tables/table.entity.ts';
import { TeamEntity, TokenEntity } from '../../projections/teams/team.entity.ts';
import { UploadEntity } from '../../projections/uploads/upload.entity.ts';
import { columnName } from '../../src/storage/database/rows-statement.ts';
import { HexBytes } from '../../src/storage/database/stored-table.ts';
import { postgresTypes } from '../../src/storage/database/pipelined-client.ts';
import { compareReadModels, type ComparedReadModels } from '../../src/log/compare/compare.ts';
import { digestReadModel, digestSnapshot, type PartitionDigest } from '../../src/log/compare/digest.ts';
import { DigestCache } from '../../src/log/compare/digest-cache.ts';
import { chooseSeed } from '../support/random.ts';
import { rebuild } from '../support/rebuild.ts';
import { Snapshot } from '../../src/log/compare/snapshot.ts';
import { cloneDatabase } from '../support/postgres.ts';
import { runTablog } from '../support/tablog.ts';
import { scale } from '../scale.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

const rebuilt = `${readModelSchema}_verify`;
let generated: GeneratedLog;
let digests: readonly PartitionDigest[];

/**
 * How many logs are generated at most, until one has what each statement is to alter: chance may leave something out.
 */
const logsMax = 5;

beforeAll(async () => {
  const seed = chooseSeed();
  for (let at = 0; ; at += 1) {
    generated = await createGeneratedLog({ seed: seed + at, ...scale.alteredLog });
    const missing = await withoutTarget(generated.url);
    if (missing.length === 0) break;
    if (at + 1 === logsMax) throw new Error(`there is nothing to alter by ${missing.join('\n')}`);
    await generated.drop();
  }
  await rebuild({ url: generated.url, log: generated.log, schema: rebuilt });
  digests = (
    await digestReadModel(models, { url: generated.url, schema: rebuilt, signal: new AbortController().signal })
  ).partitions;
  await (await DigestCache.open(generated.url, readModelSchema)).close();
});

afterAll(async () => {
  await generated?.drop();
});

interface Compared extends ComparedReadModels {
  readonly digests: readonly PartitionDigest[];
}

/** The sessions of all comparisons: a new one would first have to learn the catalog of Postgres. */
let expected: Snapshot | undefined;
let client: pg.Client | undefined;

async function connect(url: string): Promise<pg.Client> {
  const connected = new pg.Client({
    connectionString: url,
    options: `-c search_path=${readModelSchema}`,
    types: postgresTypes,
  });
  await connected.connect();
  return connected;
}

async function openSessions(): Promise<void> {
  expected = await Snapshot.open(generated.url, rebuilt, Infinity);
  client = await connect(generated.url);
}

async function closeSessions(): Promise<void> {
  await Promise.all([expected?.close(), client?.end()]);
}

/** Runs a statement on the read model, which must change one row; compares, and digests; and rolls back. */
async function compareAfter(statement: string): Promise<Compared> {
  await client!.query('begin isolation level repeatable read');
  try {
    expect((await client!.query(statement)).rowCount).toBe(1);
    const found = new Snapshot(client!);
    const compared = await compareReadModels(models, (compare) => compare(expected!, found));
    return { ...compared, digests: (await digestSnapshot(models, found)).partitions };
  } finally {
    await client!.query('rollback');
  }
}

/** Conditions that leave out the remains of deleted tables, which are not compared. */
const isState: Readonly<Record<string, string>> = {
  tables: 'not deleted',
  table_schemas: '(table_id, version) in (select id, schema_version from tables where not deleted)',
  app_links: 'table_id in (select id from tables where not deleted)',
  extents: 'table_id in (select id from tables where not deleted)',
  segment_rows: 'segment in (select segment from extents join tables on tables.id = table_id where not tables.deleted)',
  changes: 'extent in (select key from extents join tables on tables.id = table_id where not tables.deleted)',
};
const one = (table: string, condition = 'true'): string => `${table}.ctid = (select ${table}.ctid from ${table}
  where ${condition} and ${isState[table] ?? 'true'} order by ${table}.ctid limit 1)`;
const set = (table: string, change: string, condition?: string): string =>
  `update ${table} set ${change} where ${one(table, condition)}`;
const remove = (table: string, condition?: string): string => `delete from ${table} where ${one(table, condition)}`;

/** A row of a block or of a tail whose stored body is the presented one. */
const shown = (tail: boolean): string => `segment_rows.version is ${tail ? 'not null' : 'null'} and exists (
  select from extents where extents.segment = segment_rows.segment and extents.presented is not null and not exists (
    select from changes where changes.extent = extents.key and changes.index = segment_rows.index - extents.first))`;
/** A retained row ID, in the present generation or in a replaced one. */
const retained = (
  isPresent: boolean,
): string => `exists (select from extents join tables on tables.id = table_id and not tables.deleted
  where extents.segment = retained_ids.segment and extents.retained is not null and retained_ids.index >= extents.first
    and retained_ids.index < extents.first + extents.rows and extents.generation ${isPresent ? '=' : '<>'} tables.generation)`;
/** References to files by rows of present generations, as received and as patched. */
const isPresent =
  'extents join tables on tables.id = table_id and tables.generation = extents.generation and not tables.deleted';
const named = `exists (select from ${isPresent} where extents.segment = file_references.segment
  and file_references.index >= extents.first and file_references.index < extents.first + extents.rows
  and not exists (select from changes where changes.extent = extents.key
  and changes.index = file_references.index - extents.first))`;
const namedByChange = `exists (select from ${isPresent} where extents.key = change_references.extent)`;
const otherNumber = `body = '{"n":123456789}'`;

/** SQL for a different value of a column, by the class of its type. */
const another: readonly (readonly [
  type: abstract new (...args: never[]) => unknown,
  value: (column: string) => string,
])[] = [
  [UuidType, () => 'gen_random_uuid()'],
  [BooleanType, (column) => `not ${column}`],
  [HexBytes, () => `'\\x00'`],
  [TextType, (column) => `coalesce(${column}, '') || '2'`],
  [StringType, (column) => `coalesce(${column}, '') || '2'`],
  [BigIntType, (column) => `coalesce(${column}, 0) + 1`],
  [IntegerType, (column) => `coalesce(${column}, 0) + 1`],
];

/** A statement per column that batches write, which changes one row; skips the key and the columns in `but`. */
function eachColumn(
  what: string,
  { meta }: EntitySchema,
  but: readonly string[] = [],
): [what: string, statement: string][] {
  const properties = Object.entries(
    meta.properties as Readonly<Record<string, Pick<EntityProperty, 'type' | 'primary' | 'default'>>>,
  );
  return properties
    .filter(([name, { primary, default: byDefault }]) => !primary && byDefault === undefined && !but.includes(name))
    .map(([name, { type }]) => {
      const column = columnName(name);
      const [, value] = another.find(([one]) => (type as unknown) === one || (type as unknown) instanceof one)!;
      return [`${what}: ${column}`, set(meta.tableName!, `${column} = ${value(column)}`)];
    });
}

const mutations: readonly (readonly [what: string, statement: string])[] = [
  ['progress of partition \\d+: next', set('progress', 'next = next + 1')],
  ['progress of partition \\d+: base', set('progress', 'base = 5')],
  ['progress of partition \\d+: log_id', set('progress', 'log_id = gen_random_uuid()')],
  ['progress of partition \\d+: last_hash', set('progress', `last_hash = '\\x00'`)],
  ['progress of partition \\d+: time', set('progress', 'time = time - 1')],
  ...eachColumn('team \\S+', TeamEntity, ['partition']),
  ['team \\S+: partition', set('teams', 'partition = (partition + 1) % 12')],
  ...eachColumn('upload \\S+', UploadEntity),
  ['upload \\S+: removed_at', set('uploads', 'removed_at = 5', 'removed_at is null')],
  ['upload \\S+: removed_at', set('uploads', 'removed_at = null', 'removed_at is not null')],
  ['upload \\S+', remove('uploads')],
  [
    'file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+',
    set('file_references', `file = 'A' || substr(file, 2)`, named),
  ],
  [
    'file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+',
    set('file_references', 'index = index - 1', `${named} and index > 0`),
  ],
  ['file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+', remove('file_references', named)],
  [
    'file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+',
    set('change_references', `file = 'A' || substr(file, 2)`, namedByChange),
  ],
  ['file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+', remove('change_references', namedByChange)],
  [
    'file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+: team_id',
    set('file_references', 'team_id = gen_random_uuid()', named),
  ],
  [
    'file \\S+ in row \\d+ of extent \\d+ \\d+ of table \\S+: team_id',
    set('change_references', 'team_id = gen_random_uuid()', namedByChange),
  ],
  ...eachColumn('token \\S+', TokenEntity),
  ['token \\S+', remove('tokens')],
  ...eachColumn('table \\S+', TableEntity, ['tail', 'deleted']),
  ['table \\S+', set('tables', 'deleted = not deleted')],
  ['table \\S+: tail', set('tables', 'tail = null', 'tail is not null')],
  ['table \\S+', remove('tables')],
  [
    'schema \\d+ of table \\S+: columns',
    set('table_schemas', `columns = replace(columns, 'Number', 'number')`, `columns like '%Number%'`),
  ],
  ['schema \\d+ of table \\S+', remove('table_schemas')],
  ['link of table \\S+ to app .*', remove('app_links')],
  ['link of table \\S+ to app .*', set('app_links', `app_id = app_id || '2'`)],
  ...eachColumn('open body \\S+', OpenBodyEntity),
  ['open body \\S+', remove('open_bodies')],
  [
    'block \\d+ of body \\S+: team_id',
    set('body_blocks', `team_id = (select id from teams where id <> team_id limit 1)`),
  ],
  ['block \\d+ of body \\S+: profile', set('body_blocks', `profile = replace(profile, '[60,', '[61,')`)],
  ['block \\d+ of body \\S+: time', set('body_blocks', 'time = time - 1')],
  ['block \\d+ of body \\S+', remove('body_blocks')],
  ['outcome of command \\S+ in partition \\d+: log_offset', set('outcomes', 'log_offset = log_offset + 1')],
  ['outcome of command \\S+ in partition \\d+: time', set('outcomes', 'time = time - 1')],
  ['outcome of command \\S+ in partition \\d+: etag', set('outcomes', 'etag = etag + 1', 'etag is not null')],
  ['outcome of command \\S+ in partition \\d+: etag', set('outcomes', 'etag = 0', 'etag is null')],
  [
    'outcome of command \\S+ in partition \\d+: detail',
    set('outcomes', `detail = replace(detail, 'is', 'was')`, `detail like '%is%'`),
  ],
  ['outcome of command \\S+ in partition \\d+: detail', set('outcomes', 'detail = null', 'detail is not null')],
  ['outcome of command \\S+ in partition \\d+: request_digest', set('outcomes', `request_digest = 'x'`)],
  ['outcome of command \\S+ in partition \\d+: replaced_time', set('outcomes', 'replaced_time = time - 1')],
  ['outcome of command \\S+ in partition \\d+', remove('outcomes')],
  ['extent \\d+ \\d+ of table \\S+: generation', set('extents', 'generation = generation + 1')],
  ['extent \\d+ \\d+ of table \\S+: schema_version', set('extents', 'schema_version = schema_version + 1')],
  ['extent \\d+ \\d+ of table \\S+: rows', set('extents', 'rows = rows - 1')],
  ['extent \\d+ \\d+ of table \\S+: bytes', set('extents', 'bytes = bytes + 1')],
  ['extent \\d+ \\d+ of table \\S+: deleted', set('extents', 'deleted = deleted + 1')],
  ['extent \\d+ \\d+ of table \\S+: changed', set('extents', 'changed = false', 'changed')],
  ['extent \\d+ \\d+ of table \\S+', remove('extents')],
  ['row \\S+ of table \\S+.*', set('extents', 'first = first + 1', 'rows > 3')],
  ...[true, false].flatMap((isPresent): [string, string][] => [
    [
      'the ID that row \\d+ of extent \\d+ \\d+ of table \\S+ retains: id',
      set('retained_ids', `id = 'A' || substr(id, 2) || 'x'`, retained(isPresent)),
    ],
    ['the ID that row \\d+ of extent \\d+ \\d+ of table \\S+ retains', remove('retained_ids', retained(isPresent))],
  ]),
  ['row \\S+ of table \\S+: column ".*"', set('segment_rows', otherNumber, shown(false))],
  ['row \\S+ of table \\S+: column ".*"', set('segment_rows', otherNumber, shown(true))],
  [
    'row \\S+ of table \\S+: column "(n|name)"',
    set('segment_rows', `body = replace(body, '"n', '"N')`, `${shown(false)} and body like '%"n%'`),
  ],
  ['row \\S+ of table \\S+: version', set('segment_rows', 'version = version - 1', shown(true))],
  ['row \\S+ of table \\S+', remove('segment_rows', shown(false))],
  ['rows from \\d+ on of extent \\d+ \\d+ of table \\S+', set('segment_rows', `body = E'{"n":\\n1}'`, shown(false))],
  ['row \\S+ of table \\S+: column ".*"', set('changes', otherNumber, 'body is not null')],
  ['row \\S+ of table \\S+', set('changes', otherNumber, 'body is null')],
  ['row \\S+ of table \\S+', set('changes', 'body = null', 'body is not null')],
  ['row \\S+ of table \\S+: version', set('changes', 'version = version + 1')],
  ['row \\S+ of table \\S+.*', remove('changes')],
];

describe('one altered value is told', () => {
  beforeAll(openSessions);
  afterAll(closeSessions);

  test.each(mutations)('the comparison tells one altered value: %s: %s', async (what, statement) => {
    const { differences, digests: found } = await compareAfter(statement);
    expect(found).not.toEqual(digests);
    expect(differences.map((difference) => difference.what)).toContainEqual(
      expect.stringMatching(new RegExp(`^${what}$`)),
    );
    expect(differences.length).toBeLessThanOrEqual(20);
  });
});

/** Alterations that are not compared: how and where rows are stored, and expired things. */
const harmless: readonly (readonly [what: string, statement: string])[] = [
  ['a segment that no extent shows', `insert into segments (key, id, rows) values (-1, gen_random_uuid(), 1)`],
  [
    'an outcome whose time is over',
    `insert into outcomes (partition, command_id, log_offset, time) values (0, gen_random_uuid(), 0, 1)`,
  ],
  [
    'a body block whose time is over',
    `insert into body_blocks (body_id, number, team_id, segment, profile, time)
    select gen_random_uuid(), 0, id, -1, '[]', 1 from teams limit 1`,
  ],
  [
    'an extent of a deleted table',
    `delete from extents where ctid = (select extents.ctid from extents
    join tables on tables.id = table_id where tables.deleted limit 1)`,
  ],
  [
    'a schema of a deleted table',
    `delete from table_schemas where ctid = (select table_schemas.ctid from table_schemas
    join tables on tables.id = table_id where deleted limit 1)`,
  ],
  ['an app of a deleted table', `insert into app_links select id, 'x' from tables where deleted limit 1`],
  ['who projects', set('progress', 'epoch = epoch + 1')],
  ['whether the bytes of a file are gone', set('uploads', 'cleared = not cleared')],
  [
    'a file that a row named which was patched or deleted',
    `insert into file_references (team_id, file, segment, index)
    select team_id, 'nobody', segment, first + index from changes join extents on extents.key = changes.extent
      join tables on tables.id = table_id
      where not exists (select from extents other where other.segment = extents.segment and other.key <> extents.key)
      limit 1`,
  ],
];

/** The statements that find nothing to alter. */
async function withoutTarget(url: string): Promise<string[]> {
  const client = await connect(url);
  try {
    const missing: string[] = [];
    for (const [, statement] of [...mutations, ...harmless]) {
      await client.query('begin');
      if ((await client.query(statement)).rowCount !== 1) missing.push(statement);
      await client.query('rollback');
    }
    return missing;
  } finally {
    await client.end();
  }
}

describe('what is not compared', () => {
  beforeAll(openSessions);
  afterAll(closeSessions);

  test.each(harmless)('%s makes no difference', async (_, statement) => {
    const compared = await compareAfter(statement);
    expect(compared.differences).toEqual([]);
    expect(compared.digests).toEqual(digests);
  });
});

/** `verify` may print progress if it takes long. */
const onlyProgress = /^(\d+ of \d+ events, \d+ a second(, \d+ \w+ left)?\n)*$/;

test('on the command line a difference is told in a line and ends in exit code 1', async () => {
  const { url, drop } = await cloneDatabase(generated.url);
  try {
    const client = await connect(url);
    await client.query(set('teams', 'rows = rows + 1'));
    await client.end();
    const verified = await runTablog(['verify'], { ...generated.environment, DATABASE_URL: url });
    expect(verified).toMatchObject({ code: 1, stderr: expect.stringMatching(onlyProgress) });
    expect(verified.stdout).toMatch(
      /^The read model does not match the log.*\nteam \S+: rows: expected \d+, found \d+\n$/,
    );
  } finally {
    await drop();
  }
});
