/**
 * The keys that all processes of a deployment sign with, how one takes the place of another, and how one is removed.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { Database } from '../../../../src/storage/database/database.ts';
import {
  KeysNotRead,
  listSecretKeys,
  removeSecretKey,
  rotateSecretKey,
  StoredSecretKeys,
  type KeyReading,
} from '../../../../src/storage/security/secret-keys.ts';
import { createDatabase } from '../../../support/postgres.ts';
import { sleepUntil } from '../../../support/server.ts';

const never = 2 ** 31 - 1;
const often = 20;

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: pg.Pool;
let opened: StoredSecretKeys[];

beforeAll(async () => {
  database = await createDatabase();
  pool = openPool();
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

function openPool(): pg.Pool {
  const opened = new pg.Pool({ connectionString: database.url });
  // A connection that was told to end may still be there when the database is dropped.
  opened.on('error', () => undefined);
  return opened;
}

async function open(reading: KeyReading = { interval: never }, from = pool): Promise<StoredSecretKeys> {
  const keys = await StoredSecretKeys.open(from, reading);
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

  test('keys from before there was a rotation go on', async () => {
    await pool.query('create schema tablog_keys');
    await pool.query('create table tablog_keys.keys (id smallint primary key, bytes bytea not null)');
    await pool.query('insert into tablog_keys.keys values (1, $1)', [Buffer.alloc(32, 7)]);
    expect((await open()).current).toMatchObject({ id: 1, bytes: Buffer.alloc(32, 7) });
  });

  test('can be opened again by a process that has read them again', async () => {
    const service = await Database.open({ url: database.url, schema: 'public' });
    try {
      const keys = await open({ interval: often }, service.pool);
      await rotateSecretKey(pool);
      await sleepUntil(() => keys.find(2) !== null, 'the keys are read again');
      expect((await open({ interval: never }, service.pool)).current).toEqual(keys.current);
    } finally {
      for (const keys of opened.splice(0)) await keys.close();
      await service.close();
    }
  });

  test('can be listed and made before there was a start', async () => {
    expect(await listSecretKeys(pool)).toEqual([]);
    expect(await rotateSecretKey(pool)).toEqual({ id: 1, state: 'current' });
    expect((await open()).current.id).toBe(1);
  });
});

describe('a new key', () => {
  test('is known to a running process before any other signs with it', async () => {
    const keys = await open({ interval: often });
    expect(await rotateSecretKey(pool)).toEqual({ id: 2, state: 'next' });
    await sleepUntil(() => keys.find(2) !== null, 'the new key is known');
    expect(keys.current.id).toBe(1);
    expect((await open()).current.id).toBe(1);
    expect(await listSecretKeys(pool)).toEqual([
      { id: 1, state: 'current' },
      { id: 2, state: 'next' },
    ]);
  });

  test('signs once its time has come, and the old one is still known', async () => {
    const keys = await open({ interval: often });
    const before = keys.current;
    await rotateSecretKey(pool, 200);
    await sleepUntil(() => keys.current.id === 2, 'the new key signs');
    expect(keys.current.bytes).not.toEqual(before.bytes);
    expect(keys.find(1)).toMatchObject({ id: 1, bytes: before.bytes });
    expect(await listSecretKeys(pool)).toEqual([
      { id: 1, state: 'past' },
      { id: 2, state: 'current' },
    ]);
  });

  test('is one for each who asks, at the same time too, until there are 255', async () => {
    await open();
    const made = await Promise.all(Array.from({ length: 300 }, () => rotateSecretKey(pool, 0)));
    const ids = made.flatMap((key) => (key === null ? [] : [key.id]));
    expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 254 }, (_, at) => at + 2));
    expect((await open()).current.id).toBe(255);
  });
});

describe('a key that is removed', () => {
  test('is known no more, to running processes and to those that start, and the others stay', async () => {
    const keys = await open({ interval: often });
    await rotateSecretKey(pool, 0);
    const { bytes } = keys.find(1)!;
    expect(await removeSecretKey(pool, 1, 0)).toBe('removed');
    await sleepUntil(() => keys.find(1) === null, 'the key is known no more');
    expect([keys.current.id, (await open()).find(1)]).toEqual([2, null]);
    expect(keys.current.bytes).not.toEqual(bytes);
    expect(await listSecretKeys(pool)).toEqual([{ id: 2, state: 'current' }]);
    expect(await removeSecretKey(pool, 1, 0)).toBe('unknown');
    expect(await rotateSecretKey(pool)).toEqual({ id: 3, state: 'next' });
  });

  test('is not the one that signs, but may be one that would have signed next', async () => {
    await open();
    await rotateSecretKey(pool);
    expect(await removeSecretKey(pool, 1, 0)).toBe('current');
    expect(await removeSecretKey(pool, 2, 0)).toBe('removed');
    expect(await removeSecretKey(pool, 1, 0)).toBe('current');
    expect(await listSecretKeys(pool)).toEqual([{ id: 1, state: 'current' }]);
  });

  test('is not one that a process may sign with yet, because it has not read of the next one', async () => {
    await open();
    await rotateSecretKey(pool, 0);
    expect(await removeSecretKey(pool, 1)).toBe('tooEarly');
    // One that was to sign later has never signed.
    await rotateSecretKey(pool);
    expect(await removeSecretKey(pool, 3)).toBe('removed');
    await pool.query(`update tablog_keys.keys set signs_from = signs_from - interval '30 s' where id = 2`);
    expect(await removeSecretKey(pool, 1)).toBe('removed');
  });

  test('one of several keys that are removed at once is left, and signs', async () => {
    await open();
    await rotateSecretKey(pool, 0);
    await rotateSecretKey(pool, 0);
    expect(await Promise.all([1, 2, 3].map((id) => removeSecretKey(pool, id, 0)))).toEqual([
      'removed',
      'removed',
      'current',
    ]);
    expect(await listSecretKeys(pool)).toEqual([{ id: 3, state: 'current' }]);
  });

  test('is not there before there was a start', async () => {
    expect(await removeSecretKey(pool, 1, 0)).toBe('unknown');
  });

  test('is not trusted by a process that cannot read the keys, nor is any other, until it can', async () => {
    const keys = await open({ interval: often, trustedFor: 10 * often });
    await pool.query('alter schema tablog_keys rename to tablog_keys_away');
    await sleepUntil(() => idFoundIn(keys, 1) === 'not read', 'no key is trusted');
    expect(() => keys.find(2)).toThrow(KeysNotRead);
    expect(keys.current.id).toBe(1);
    await pool.query('alter schema tablog_keys_away rename to tablog_keys');
    await sleepUntil(() => idFoundIn(keys, 1) === 1, 'the keys are trusted again');
  });
});

/** The ID of the key that is found; null where there is none. */
function idFoundIn(keys: StoredSecretKeys, id: number): number | null | 'not read' {
  try {
    return keys.find(id)?.id ?? null;
  } catch (error) {
    if (error instanceof KeysNotRead) return 'not read';
    throw error;
  }
}

test('a reading that takes long is not overtaken by a later one, and what it found is not trusted for longer', async () => {
  const held = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let begun = 0;
  let found = 0;
  let ended = 0;
  let most = 0;
  const slow = openPool();
  const query = slow.query.bind(slow);
  slow.query = (async (text: string) => {
    begun += 1;
    most = Math.max(most, begun - ended);
    const gate = held[begun - 1];
    const result = await query(text);
    found += 1;
    await gate?.promise;
    ended += 1;
    return result;
  }) as typeof slow.query;
  const keys = await open({ interval: often, trustedFor: 10 * often }, slow);
  try {
    await sleepUntil(() => found === 1, 'a reading has found the key');
    const foundAt = performance.now();
    await rotateSecretKey(pool, 0);
    await removeSecretKey(pool, 1, 0);
    await sleepUntil(() => performance.now() > foundAt + 10 * often, 'what was found is old');
    expect(idFoundIn(keys, 1)).toBe('not read');
    held[0]!.resolve();
    await sleepUntil(() => begun === 2, 'the next reading has begun');
    expect(idFoundIn(keys, 1)).toBe('not read');
    held[1]!.resolve();
    await sleepUntil(() => idFoundIn(keys, 1) === null, 'the keys are read again');
    expect([keys.current.id, most]).toEqual([2, 1]);
  } finally {
    for (const { resolve } of held) resolve();
    await keys.close();
    await slow.end();
  }
});

test('keys stay known while Postgres cannot be asked, and are read again when it can', async () => {
  const keys = await open({ interval: often });
  await pool.query('alter schema tablog_keys rename to tablog_keys_away');
  await new Promise((resolve) => setTimeout(resolve, 5 * often));
  expect(keys.find(1)).not.toBeNull();
  await pool.query('alter schema tablog_keys_away rename to tablog_keys');
  await rotateSecretKey(pool, 0);
  await sleepUntil(() => keys.current.id === 2, 'the new key signs');
});
