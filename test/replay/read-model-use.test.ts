/** Who uses a read model hears when it was replaced, and it is replaced by one replay at a time. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { encodeEvent } from '../../src/language/events/event-codec.ts';
import { eventLanguage } from '../../src/language/events/language.ts';
import type { Outcome } from '../../src/language/events/outcome.ts';
import { LanguageTooNew, NotAppended } from '../../src/log/event-log.ts';
import { partitionOf } from '../../src/log/partition.ts';
import type { Service } from '../../src/app/service.ts';
import { openOperator } from '../support/open-operator.ts';
import { readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { ReadModelInUse, ReadModelUse } from '../../src/log/read-model-use.ts';
import { replay } from '../../src/operations/replay/replay.ts';
import { verify } from '../../src/operations/replay/verify.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer } from '../support/server.ts';
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

const locks = `from pg_locks where locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_database where datname = current_database())`;

/**
 * Breaks the connections that hold locks, as a failing network would, and waits until Postgres has taken the locks
 * back.
 */
async function breakConnections(): Promise<void> {
  await admin.query(`select pg_terminate_backend(pid, 10000) ${locks}`);
}

async function holders(): Promise<number> {
  return (await admin.query(`select count(*)::int ${locks}`)).rows[0].count;
}

describe('the use of a read model', () => {
  test('many share it, unless a replay of an earlier version has it alone', async () => {
    const uses = await Promise.all([
      ReadModelUse.share(database.url, schema),
      ReadModelUse.share(database.url, schema),
    ]);
    await Promise.all(uses.map((use) => use.end()));
    const earlier = new pg.Client({ connectionString: database.url });
    await earlier.connect();
    await earlier.query('select pg_advisory_lock($1)', [advisoryLocks.useReadModel]);
    await expect(ReadModelUse.share(database.url, schema)).rejects.toThrow(ReadModelInUse);
    await earlier.end();
    await (await ReadModelUse.share(database.url, schema)).end();
  });

  test('a broken connection is made anew, and with it the lock', async () => {
    const { use, lost } = await shareAndListen();
    await breakConnections();
    await sleepUntil(async () => (await holders()) === 1, 'the lock is held again');
    await use.end();
    expect(lost).toEqual([]);
  });

  test('a process is told when others took the read model while it had no connection', async () => {
    const { use, lost } = await shareAndListen();
    const rival = new pg.Client({ connectionString: database.url });
    await rival.connect();
    const { rows } = await admin.query(`select (classid::int8 << 32 | objid::int8) as key ${locks}`);
    const taken = rival.query('select pg_advisory_lock($1)', [rows[0].key]);
    await sleepUntil(
      async () =>
        (
          await admin.query(
            'select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())',
          )
        ).rowCount === 1,
      'the rival waits',
    );
    await breakConnections();
    await taken;
    await sleepUntil(() => lost.length > 0, 'the process is told');
    expect(lost).toEqual([expect.stringContaining('is being rebuilt')]);
    await Promise.all([rival.end(), use.end()]);
  });

  test.each([
    ['while it is connected', false],
    ['after it had no connection', true],
  ])('a process is told when its read model is another one %s', async (_when, breaks) => {
    const { use, lost } = await shareAndListen();
    let isReplaced = false;
    use.onReplaced(() => {
      isReplaced = true;
    });
    await admin.query(`drop schema ${schema}; create schema ${schema}`);
    if (breaks) await breakConnections();
    await sleepUntil(() => isReplaced, 'the process is told');
    expect(lost).toEqual([]);
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

describe('the language of events', () => {
  let other: Awaited<ReturnType<typeof createDatabase>>;

  beforeAll(async () => {
    other = await createDatabase();
  });

  afterAll(async () => {
    await other?.drop();
  });

  test('a newer one is written once all live processes read it, and then no process starts that does not', async () => {
    const next = eventLanguage + 1;
    const { url } = other;
    const older = await startServer({ databaseUrl: url });
    const first = new pg.Client({ connectionString: url });
    await first.connect();
    const newer = await ReadModelUse.share(url, schema, next);
    try {
      await newer.identify();
      // A version from before languages says nothing of them.
      await first.query('select pg_advisory_lock_shared($1)', [advisoryLocks.useReadModel]);
      expect(await older.stop()).toBe(0);
      expect(newer.languageMax).toBe(eventLanguage);
      const late = await ReadModelUse.share(url, schema);
      await first.end();
      await expect(agreedWith(url)).resolves.toBe(eventLanguage);
      await late.end();
      await sleepUntil(() => newer.languageMax === next, 'the newer language may be written');
      await expect(ReadModelUse.share(url, schema)).rejects.toThrow('only a newer version can read');
    } finally {
      await newer.end();
    }
    // It stays so when nobody is there: the log may hold such events.
    await expect(ReadModelUse.share(url, schema)).rejects.toThrow(ReadModelInUse);
    await (await ReadModelUse.share(url, schema, next)).end();
  });
});

/** Which language processes agree on that read all there are. */
async function agreedWith(url: string): Promise<number> {
  const use = await ReadModelUse.share(url, schema, 1000);
  await use.end();
  return use.languageMax;
}

describe('replay and verify', () => {
  let generated: GeneratedLog;

  beforeAll(async () => {
    generated = await createGeneratedLog({ seed: 1, teams: 2, eventsOfTeam: 100, blocksOfTeam: 2, rowsOfBlock: 100 });
  });

  afterAll(async () => {
    await generated?.drop();
  });

  test('only one replay runs at a time; verify does not mind', async () => {
    const refusals: Promise<void>[] = [];
    const onProgress = (): void => {
      if (refusals.length === 0)
        refusals.push(
          expect(replay({ url: generated.url, log: generated.log, ...quietly })).rejects.toThrow(ReadModelInUse),
        );
    };
    await replay({ url: generated.url, log: generated.log, ...quietly, onProgress });
    expect(refusals).toHaveLength(1);
    await Promise.all(refusals);
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });

  test('a process that has the old read model open can store nothing any more, and one that opens the new one can', async () => {
    const append = ({ log }: Service, language = eventLanguage): Promise<Outcome> => {
      const data = { type: 'TeamCreated', teamId: randomUUID(), name: 'team' } as const;
      const event = encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data);
      return log.append(partitionOf(data.teamId, log.partitions), { ...event, language });
    };
    const before = await openOperator(generated.environment);
    expect(await append(before)).toMatchObject({ status: 'applied' });
    await replay({ url: generated.url, log: generated.log, ...quietly });
    for (let attempt = 0; attempt < 5; attempt += 1) await expect(append(before)).rejects.toThrow(NotAppended);
    const after = await openOperator(generated.environment);
    expect(await append(after)).toMatchObject({ status: 'applied' });
    await expect(append(after, eventLanguage + 1)).rejects.toThrow(LanguageTooNew);
    await expect(append(before)).rejects.toThrow(NotAppended);
    await Promise.all([before.close(), after.close()]);
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });

  test('a transaction that holds the read model delays the takeover, and nobody else', async () => {
    const holder = new pg.Client({ connectionString: generated.url });
    await holder.connect();
    await holder.query(`begin; select from ${schema}.progress`);
    let isDone = false;
    const replaying = replay({ url: generated.url, log: generated.log, ...quietly }).finally(() => {
      isDone = true;
    });
    const waits = `select from pg_locks where not granted and relation = '${schema}.progress'::regclass`;
    for (const isWaiting of [true, false, true, false]) {
      await sleepUntil(
        async () => ((await holder.query(waits)).rowCount === 1) === isWaiting,
        `the takeover ${isWaiting ? 'waits for' : 'leaves'} the lock`,
      );
    }
    expect(isDone).toBe(false);
    await holder.query('rollback');
    await replaying;
    await holder.end();
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });

  test('a vacuum delays the takeover, and nobody else', async () => {
    const [vacuum, writer] = [
      new pg.Client({ connectionString: generated.url }),
      new pg.Client({ connectionString: generated.url }),
    ];
    await Promise.all([vacuum.connect(), writer.connect()]);
    // The lock of a vacuum. Postgres ends an automatic one once somebody has waited for it for a second.
    await vacuum.query(`begin; lock table ${schema}.progress in share update exclusive mode`);
    const replaying = replay({ url: generated.url, log: generated.log, ...quietly });
    const waits = `select from pg_locks where not granted and relation = '${schema}.progress'::regclass and mode = 'ShareUpdateExclusiveLock'`;
    await sleepUntil(async () => (await vacuum.query(waits)).rowCount === 1, 'the takeover waits for the vacuum');
    await writer.query(
      `begin; set local lock_timeout = 2000; lock table ${schema}.progress in row exclusive mode; rollback`,
    );
    await vacuum.query('rollback');
    await replaying;
    await Promise.all([vacuum.end(), writer.end()]);
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
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
    const ends = await Promise.all(
      Array.from({ length: generated.log.partitions }, (_, partition) => generated.log.bounds(partition)),
    );
    expect(BigInt(events)).toBe(ends.reduce((sum, { end }) => sum + end, 0n));
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });

  test('an end that a deposed leader tells is confirmed before a read model takes over that ends there', async () => {
    const { log, url } = generated;
    const confirmed = new Set<number>();
    const deposed = new Proxy(log, {
      get: (_log, name) => {
        if (name === 'confirmLeader') return async (partition: number) => void confirmed.add(partition);
        if (name === 'bounds')
          return async (partition: number) => {
            const { start, end } = await log.bounds(partition);
            return { start, end: confirmed.has(partition) || end < 2n ? end : end - 1n };
          };
        const value: unknown = Reflect.get(log, name);
        return typeof value === 'function' ? value.bind(log) : value;
      },
    });
    expect((await replay({ url, log: deposed, ...quietly })).shortened).toEqual([]);
    expect(confirmed.size).toBeGreaterThan(0);
    expect((await verify({ url, log, ...quietly })).differences).toEqual([]);
  });

  test('where there is no read model, verify says so, and replay makes one', async () => {
    const client = new pg.Client({ connectionString: generated.url });
    await client.connect();
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
    await expect(verify({ url: generated.url, log: generated.log, ...quietly })).rejects.toThrow(
      'There is nothing to verify',
    );
    await replay({ url: generated.url, log: generated.log, ...quietly });
    expect((await verify({ url: generated.url, log: generated.log, ...quietly })).differences).toEqual([]);
  });
});
