/**
 * Two versions with their own read models accept writes of many teams on one log in Postgres, while an operator resumes
 * the log.
 */
import { afterEach, expect, test } from '@jest/globals';
import { partitionCount } from '../../src/log/partition.ts';
import { PostgresReader } from '../../src/log/postgres/postgres-reader.ts';
import { resumeLog } from '../../src/log/resume.ts';
import { Client } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { createTable } from '../support/tables.ts';
import { ManyTeams } from './many-teams.ts';
import { verify } from './verify.ts';

const earlierVersion = `--import=${new URL('../support/earlier-read-model.ts', import.meta.url).href}`;

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

function owned(server: TestServer): TestServer {
  closers.push(() => server.stop());
  return server;
}

test('while two versions write to all partitions and the log is resumed, both answer every team', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const { url: databaseUrl } = database;
  const environment = { DATABASE_URL: databaseUrl };
  const old = owned(await startServer({ databaseUrl, nodeArgs: [earlierVersion] }));
  const next = owned(await startServer({ databaseUrl }));
  const [before, after] = [old, next].map(({ url }) => url) as [string, string];
  const token = await old.token();

  const teams = await ManyTeams.start([before, after], environment);
  closers.push(() => teams.stop());
  const reader = await PostgresReader.open(databaseUrl);
  closers.push(() => reader.close());
  for (let times = 0; times < 2; times += 1) {
    const reached = teams.acknowledged;
    await sleepUntil(() => teams.acknowledged > reached + 200, 'both versions take writes');
    // As `tablog log resume` does. That command needs a read model at the end of the log, which this one never reaches
    // for long.
    await resumeLog(
      reader,
      Array.from({ length: partitionCount }, () => 1n),
    );
  }

  // If one version has acknowledged a write, a request to the other one sees it at once.
  const [writing, reading] = [new Client(before, token), new Client(after, token)];
  for (let round = 0; round < 20; round += 1) {
    const { path } = await createTable(writing, [{ n: round }]);
    expect((await reading.get(path)).json).toMatchObject({ data: [{ n: round }] });
    expect((await reading.post(path, [{ n: 1 }])).status).toBe(201);
    expect((await writing.get(path)).json.data).toHaveLength(2);
  }

  expect(await teams.findProblems()).toEqual([]);
  expect([await old.stop(), await next.stop()]).toEqual([0, 0]);
  expect(await verify(environment)).toMatchObject({ exitCode: 0 });
});
