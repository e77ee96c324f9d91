/**
 * With the log in Postgres, an event that no process can project halts its partition, but neither the other partitions
 * nor a process that starts.
 */
import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { partitionCount, partitionOf } from '../../src/log/partition.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { runTablog } from '../support/tablog.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

interface Team {
  readonly partition: number;
  readonly token: string;
  /** The path of a row of its table. */
  readonly row: string;
}

async function problemsOf({ url }: TestServer): Promise<string[]> {
  const { data } = (await (await fetch(`${url}/readyz`)).json()) as { data: { problems?: string[] } };
  return data.problems ?? [];
}

test('a partition halts at an event that cannot be projected, and goes on once the event can be projected', async () => {
  const database = await createDatabase();
  closers.push(() => database.drop());
  const sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  closers.push(() => sql.end());
  const start = (): Promise<TestServer> => startServer({ databaseUrl: database.url });
  let server = await start();
  closers.push(() => server.stop());
  const tablog = (...args: readonly string[]): ReturnType<typeof runTablog> =>
    runTablog(args, { DATABASE_URL: database.url });

  const createTeam = async (name: string): Promise<Team> => {
    const { id } = JSON.parse((await tablog('teams', 'create', name, '--json')).stdout) as { id: string };
    const { token } = JSON.parse((await tablog('tokens', 'create', '--team', name, '--json')).stdout) as {
      token: string;
    };
    const { json } = await new Client(server.url, token).post('/tables', { name: 'table', rows: [{ value: 'first' }] });
    return {
      partition: partitionOf(id, partitionCount),
      token,
      row: `/tables/${json.data.tableID}/rows/${json.data.rowIDs[0]}`,
    };
  };
  const patch = async ({ token, row }: Team, value: string): Promise<string> => {
    return outcomeOf(await new Client(server.url, token).send(row, { method: 'PATCH', body: { value } }));
  };
  const operatorToken = (await tablog('tokens', 'create', '--operator', '--name', 'console')).stdout.trimEnd();
  const unlucky = await createTeam('unlucky');
  let lucky = await createTeam('lucky 0');
  for (let n = 1; lucky.partition === unlucky.partition; n += 1) lucky = await createTeam(`lucky ${n}`);

  const { partition } = unlucky;
  const {
    rows: [{ at }],
  } = await sql.query(
    `with moved as (update tablog_log.heads set next = next + 1 where partition = $1 returning next - 1 as at, time)
      insert into tablog_log.records (partition, log_offset, time, bytes) select $1, at, time, 'no event' from moved
      returning log_offset as at`,
    [partition],
  );
  // Anybody may read this; the reason is in the log of the process.
  const problems = [`Partition ${partition} has halted.`];
  const expectHalted = async (): Promise<void> => {
    await sleepUntil(async () => (await problemsOf(server)).length > 0, 'it has halted');
    expect(await problemsOf(server)).toEqual(problems);
    const halts = server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{"level":60,'))
      .map((line) => JSON.parse(line));
    expect(halts).toContainEqual(
      expect.objectContaining({
        partition,
        offset: String(at),
        err: expect.objectContaining({ message: 'a record of an unknown format' }),
      }),
    );
    expect(await patch(unlucky, 'second')).toBe('503 service_unavailable');
    expect((await new Client(server.url, unlucky.token).get(unlucky.row)).json.data).toMatchObject({ value: 'first' });
    const logOf = async ({ token }: Team): Promise<unknown> =>
      (await new Client(server.url, token).get('/activity')).json.data.log;
    expect([await logOf(unlucky), await logOf(lucky)]).toMatchObject([
      { halted: 'not_projectable', eventsBehind: 1 },
      { halted: null, eventsBehind: 0 },
    ]);
    expect(await patch(lucky, 'second')).toBe('200');
    const status = await tablog('log', 'status');
    const reason = `has halted at offset ${at}: a record of an unknown format`;
    expect(status).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(
        `Partition ${partition} takes no writes: ${reason}.\n  Restart a process to try again.\n`,
      ),
    });
    expect(status.stdout).not.toContain('is not projected to the end');
    const { json } = await new Client(server.url, operatorToken).get('/admin/partitions');
    expect(json.data[partition]).toMatchObject({
      halted: `partition ${partition} ${reason}`,
      behind: 1,
      contradicted: false,
    });
  };
  await expectHalted();
  await server.stop();
  server = await start();
  await expectHalted();

  // As a version sees it that can project it.
  await sql.query(
    `update tablog_log.records set bytes = (select bytes from tablog_log.records where partition = $1
    and log_offset = $2::bigint - 1)
      where partition = $1 and log_offset = $2`,
    [partition, at],
  );
  await server.stop();
  server = await start();
  expect(await problemsOf(server)).toEqual([]);
  expect(await patch(unlucky, 'third')).toBe('200');
  expect(await tablog('log', 'status')).toMatchObject({ code: 0 });
});
