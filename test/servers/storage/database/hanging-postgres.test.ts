/** Statements on the pool while Postgres, or the network to it, hangs: nothing answers, and no connection breaks. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { isDatabaseAway } from '../../../../src/storage/database/database-away.ts';
import { Database } from '../../../../src/storage/database/database.ts';
import { asLongWork } from '../../../../src/storage/database/long-work.ts';
import { isStatementTimeout } from '../../../../src/storage/database/statement-timeout.ts';
import { inTransaction } from '../../../../src/storage/database/transaction.ts';
import { HangingProxy } from '../../../support/hanging-proxy.ts';
import { createDatabase } from '../../../support/postgres.ts';

const queryTimeout = 1500;

let created: Awaited<ReturnType<typeof createDatabase>>;
let proxy: HangingProxy;
let database: Database;

beforeEach(async () => {
  created = await createDatabase();
  const url = new URL(created.url);
  proxy = await HangingProxy.open({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  database = await Database.open({ url: url.href, schema: 'public', queryTimeout });
});

afterEach(async () => {
  await database.close();
  await proxy.close();
  await created.drop();
});

const failureOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

test('a statement fails as if Postgres were away, and the next one gets another connection', async () => {
  await database.pool.query('select 1');
  proxy.hang();
  const failure = await failureOf(database.pool.query('select $1::int4', [1]));
  expect([isDatabaseAway(failure), isStatementTimeout(failure)]).toEqual([true, true]);
  expect((await database.pool.query<{ n: number }>('select $1::int4 as n', [2])).rows).toEqual([{ n: 2 }]);
  expect(proxy.connections).toBe(2);
});

test('a connection that hangs once it is made fails the statement that waits for it', async () => {
  proxy.hang();
  expect(isDatabaseAway(await failureOf(database.pool.query('select 1')))).toBe(true);
  // The last message with which Postgres says that a connection is ready.
  proxy.passesAfter = (answer) => !answer.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I'));
  expect(isDatabaseAway(await failureOf(database.pool.query('select 1')))).toBe(true);
  expect(proxy.connections).toBe(2);
  proxy.passesAfter = () => true;
  expect((await database.pool.query('select 1')).rowCount).toBe(1);
});

test('long work and transactions take as long as they take', async () => {
  const long = `select pg_sleep(${(1.5 * queryTimeout) / 1000})`;
  const failure = failureOf(database.pool.query(long));
  const works = [
    asLongWork(() => database.pool.query(long)),
    inTransaction(database.pool, (client) => client.query(long)),
    database.withSession((client) => client.query(long)),
  ];
  expect((await Promise.all(works)).map(({ rowCount }) => rowCount)).toEqual([1, 1, 1]);
  expect(isStatementTimeout(await failure)).toBe(true);
});
