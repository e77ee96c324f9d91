/** The keys that all processes of a deployment sign with, and how one takes the place of another. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { listSecretKeys, rotateSecretKey, StoredSecretKeys } from '../../src/database/secret-keys.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil } from '../support/server.ts';

const never = 2 ** 31 - 1;
const often = 20;

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: pg.Pool;
let opened: StoredSecretKeys[];

beforeAll(async () => {
  database = await createDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

beforeEach(async () => {
  opened = [];
  await pool.query('drop schema if exists tablog_keys cascade');
});

afterEach(async () => {
  for (const keys of opened) await keys.close();
});

async function open(interval = never): Promise<StoredSecretKeys> {
  const keys = await StoredSecretKeys.open(pool, interval);
  opened.push(keys);
  return keys;
}

describe('the keys', () => {
  test('are the same for all processes, also for those that start first at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => open()));
    for (const keys of all) expect(keys.current).toEqual(all[0]!.current);
    expect(all[0]!.current).toMatchObject({ id: 1, bytes: expect.objectContaining({ length: 32 }) });
    expect(all[0]!.find(1)).toEqual(all[0]!.current);
    expect(all[0]!.find(2)).toBeNull();
    expect(await listSecretKeys(pool)).toEqual([{ id: 1, state: 'current' }]);
  });

  test('of before there was a rotation go on', async () => {
    await pool.query('create schema tablog_keys');
    await pool.query('create table tablog_keys.keys (id smallint primary key, bytes bytea not null)');
    await pool.query('insert into tablog_keys.keys values (1, $1)', [Buffer.alloc(32, 7)]);
    expect((await open()).current).toMatchObject({ id: 1, bytes: Buffer.alloc(32, 7) });
  });

  test('can be listed and made before there was a start', async () => {
    expect(await listSecretKeys(pool)).toEqual([]);
    expect(await rotateSecretKey(pool)).toEqual({ id: 1, state: 'current' });
    expect((await open()).current.id).toBe(1);
  });
});

describe('a new key', () => {
  test('is known to a running process before any other signs with it', async () => {
    const keys = await open(often);
    expect(await rotateSecretKey(pool)).toEqual({ id: 2, state: 'next' });
    await sleepUntil(() => keys.find(2) !== null, 'the new key is known');
    expect(keys.current.id).toBe(1);
    expect((await open()).current.id).toBe(1);
    expect(await listSecretKeys(pool)).toEqual([{ id: 1, state: 'current' }, { id: 2, state: 'next' }]);
  });

  test('signs once its time has come, and the old one is still known', async () => {
    const keys = await open(often);
    const before = keys.current;
    await rotateSecretKey(pool, 200);
    await sleepUntil(() => keys.current.id === 2, 'the new key signs');
    expect(keys.current.bytes).not.toEqual(before.bytes);
    expect(keys.find(1)).toMatchObject({ id: 1, bytes: before.bytes });
    expect(await listSecretKeys(pool)).toEqual([{ id: 1, state: 'past' }, { id: 2, state: 'current' }]);
  });

  test('is one for each who asks, at the same time too, until there are 255', async () => {
    await open();
    const made = await Promise.all(Array.from({ length: 300 }, () => rotateSecretKey(pool, 0)));
    const ids = made.flatMap((key) => (key === null ? [] : [key.id]));
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 254 }, (_, at) => at + 2));
    expect((await open()).current.id).toBe(255);
  });
});

test('keys stay known while Postgres cannot be asked, and are read again when it can', async () => {
  const keys = await open(often);
  await pool.query('alter schema tablog_keys rename to tablog_keys_away');
  await new Promise((resolve) => setTimeout(resolve, 5 * often));
  expect(keys.find(1)).not.toBeNull();
  await pool.query('alter schema tablog_keys_away rename to tablog_keys');
  await rotateSecretKey(pool, 0);
  await sleepUntil(() => keys.current.id === 2, 'the new key signs');
});
