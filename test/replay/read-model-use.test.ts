/** A read model is never replaced under a process that uses it. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { ReadModelInUse, ReadModelUse } from '../../src/app/read-model-use.ts';
import { replay } from '../../src/replay/replay.ts';
import { verify } from '../../src/replay/verify.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil } from '../support/server.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

const schema = readModelSchema;
const quietly = { batchEvents: 500, onProgress: () => undefined, signal: new AbortController().signal };

let database: Awaited<ReturnType<typeof createDatabase>>;
let admin: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`create schema ${schema}`);
});

afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

const locks = `from pg_locks where locktype = 'advisory' and granted
  and database = (select oid from pg_database where datname = current_database())`;

/** Breaks the connections that hold locks, as a failing network would, and waits until Postgres has taken the locks back. */
async function breakConnections(): Promise<void> {
  await admin.query(`select pg_terminate_backend(pid, 10000) ${locks}`);
}

async function holders(): Promise<number> {
  return (await admin.query(`select count(*)::int ${locks}`)).rows[0].count;
}

describe('the use of a read model', () => {
  test('many share it, and whoever wants it alone is told who they are', async () => {
    const uses = await Promise.all([ReadModelUse.share(database.url, schema), ReadModelUse.share(database.url, schema)]);
    await expect(ReadModelUse.exclude(database.url, schema)).rejects.toThrow(`process ${process.pid} on `);
    await uses[0].end();
    await expect(ReadModelUse.exclude(database.url, schema)).rejects.toThrow(ReadModelInUse);
    await uses[1].end();
    const alone = await ReadModelUse.exclude(database.url, schema);
    await expect(ReadModelUse.share(database.url, schema)).rejects.toThrow('is being rebuilt');
    await alone.end();
    await (await ReadModelUse.share(database.url, schema)).end();
  });

  test('a broken connection is made anew, and with it the lock', async () => {
    const { use, lost } = await shareAndListen();
    await breakConnections();
    await sleepUntil(async () => (await holders()) === 1, 'the lock is held again');
    await expect(ReadModelUse.exclude(database.url, schema)).rejects.toThrow(ReadModelInUse);
    await use.end();
    expect(lost).toEqual([]);
  });

  test('a process is told when others took the read model while it had no connection', async () => {
    const { use, lost } = await shareAndListen();
    const rival = new pg.Client({ connectionString: database.url });
    await rival.connect();
    const { rows } = await admin.query(`select (classid::int8 << 32 | objid::int8) as key ${locks}`);
    const taken = rival.query('select pg_advisory_lock($1)', [rows[0].key]);
    await sleepUntil(async () => (await admin.query('select from pg_locks where not granted')).rowCount === 1, 'the rival waits');
    await breakConnections();
    await taken;
    await sleepUntil(() => lost.length > 0, 'the process is told');
    expect(lost).toEqual([expect.stringContaining('is being rebuilt')]);
    await Promise.all([rival.end(), use.end()]);
  });

  test('a process is told when its read model is another one after it had no connection', async () => {
    const { use, lost } = await shareAndListen();
    await admin.query(`drop schema ${schema}; create schema ${schema}`);
    await breakConnections();
    await sleepUntil(() => lost.length > 0, 'the process is told');
    expect(lost).toEqual([expect.stringContaining('was replaced')]);
    await use.end();
  });
});

async function shareAndListen(): Promise<{ readonly use: ReadModelUse; readonly lost: string[] }> {
  const use = await ReadModelUse.share(database.url, schema);
  await use.identify();
  const lost: string[] = [];
  use.onLost((reason) => lost.push(reason));
  return { use, lost };
}

describe('replay and verify', () => {
  let generated: GeneratedLog;

  beforeAll(async () => {
    generated = await createGeneratedLog({ seed: 1, teams: 2, eventsOfTeam: 100, blocksOfTeam: 2, rowsOfBlock: 100 });
  });

  afterAll(async () => {
    await generated?.drop();
  });

  test('replay refuses while the read model is in use, and leaves it as it is; verify does not mind', async () => {
    const use = await ReadModelUse.share(generated.url, schema);
    await expect(replay({ url: generated.url, log: generated.log, ...quietly })).rejects.toThrow(ReadModelInUse);
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
    await use.end();
  });

  test('a replay that is interrupted leaves the read model as it was, and the next one goes on, unless it is told to begin anew', async () => {
    /** Interrupts a replay when it has done so many events; resolves to how many were done when it first said so. */
    const interruptAt = async (events: number, fromStart = false): Promise<number> => {
      const stopping = new AbortController();
      let first: number | null = null;
      const onProgress = (done: number): void => {
        first ??= done;
        if (done >= events) stopping.abort(new Error('interrupted'));
      };
      const options = { ...quietly, batchEvents: 5, onProgress, signal: stopping.signal, fromStart };
      await expect(replay({ url: generated.url, log: generated.log, ...options })).rejects.toThrow('interrupted');
      return first!;
    };
    expect(await interruptAt(60)).toBeLessThan(60);
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
    expect(await interruptAt(120)).toBeGreaterThan(60);
    expect(await interruptAt(20, true)).toBeLessThan(20);
    const { events } = await replay({ url: generated.url, log: generated.log, ...quietly });
    const ends = await Promise.all(Array.from({ length: generated.log.partitions }, (_, partition) => generated.log.bounds(partition)));
    expect(BigInt(events)).toBe(ends.reduce((sum, { end }) => sum + end, 0n));
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });

  test('where there is no read model, verify says so, and replay makes one', async () => {
    const client = new pg.Client({ connectionString: generated.url });
    await client.connect();
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
    await expect(verify({ url: generated.url, log: generated.log, ...quietly })).rejects.toThrow('There is nothing to verify');
    await replay({ url: generated.url, log: generated.log, ...quietly });
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });
});
