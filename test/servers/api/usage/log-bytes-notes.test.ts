import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createLogBytesNotes, logBytesNotes, noteLogBytes } from '../../../../src/api/usage/log-bytes-notes.ts';
import { createDatabase } from '../../../support/postgres.ts';

const teamId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const day = '2026-03-04';
let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createDatabase();
  pool = new pg.Pool({ connectionString: database.url });
  // `end` does not wait until Postgres has closed its side, which the removal of the database may cut.
  pool.on('error', () => undefined);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const noted = async (): Promise<unknown> =>
  (await pool.query(`select bytes::int, table_bytes::int, file_bytes::int from ${logBytesNotes}`)).rows;

test('notes from before the bytes on disks go on, also beside a process that knows only those of the log', async () => {
  await pool.query('create schema tablog_usage');
  await pool.query(
    `create table ${logBytesNotes} (day date not null, team_id uuid not null, bytes int8 not null, primary key (day, team_id))`,
  );
  const noteAsBefore = (): Promise<unknown> =>
    pool.query(
      `insert into ${logBytesNotes} as noted (day, team_id, bytes) values ($1, $2, 5) on conflict (day, team_id) do update set bytes = noted.bytes + excluded.bytes`,
      [day, teamId],
    );
  await noteAsBefore();
  await Promise.all([createLogBytesNotes(pool), createLogBytesNotes(pool)]);
  expect(await noted()).toEqual([{ bytes: 5, table_bytes: 0, file_bytes: 0 }]);
  await noteLogBytes(pool, day, new Map([[teamId, { log: 1, tables: 20, files: 300 }]]));
  await noteAsBefore();
  expect(await noted()).toEqual([{ bytes: 11, table_bytes: 20, file_bytes: 300 }]);
});

test('a start does not wait for a backup that reads the notes', async () => {
  const reader = await pool.connect();
  try {
    await reader.query('begin');
    await reader.query(`select from ${logBytesNotes}`);
    await createLogBytesNotes(pool);
  } finally {
    await reader.query('rollback');
    reader.release();
  }
});
