/**
 * The command line replays a log (large in `npm run test:all`): to verify, in small batches, and to replace the read
 * model.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readModelSchema } from '../../projections/models.ts';
import { decodeEvent } from '../../src/language/events/event-codec.ts';
import { scale } from '../scale.ts';
import { chooseSeed } from '../support/random.ts';
import { runTablog } from '../support/tablog.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

let generated: GeneratedLog;

beforeAll(async () => {
  generated = await createGeneratedLog({ seed: chooseSeed(), ...scale.replayedLog });
});

afterAll(async () => {
  await generated?.drop();
});

async function ask(query: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: generated.url });
  await client.connect();
  try {
    return await client.query(query);
  } finally {
    await client.end();
  }
}

test('the log has all that was generated', async () => {
  const { rows } = await ask(
    `select (select sum(next) from ${readModelSchema}.progress)::int as events,
      (select count(*) from ${readModelSchema}.segment_rows)::int as rows`,
  );
  expect(rows[0].events).toBeGreaterThan(scale.replayedAtLeast.events);
  expect(rows[0].rows).toBeGreaterThan(scale.replayedAtLeast.rows);
});

/** Node arguments that set a process's clock a year ahead. */
const aYearLater = `--import=data:text/javascript,${encodeURIComponent(
  'const now = Date.now; Date.now = () => now() + 31_536_000_000;',
)}`;

test('in batches of 7, another year, time zone and locale, replay gives what was written live', async () => {
  const name = new URL(generated.url).pathname.slice(1);
  await ask(
    `alter database ${name} set timezone = 'Pacific/Chatham'; alter database ${name} set datestyle = 'SQL, DMY'`,
  );
  const elsewhere = { ...generated.environment, TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
  const verified = await runTablog(['verify', '--batch-events', '7'], elsewhere, [aYearLater]);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringContaining('The read model matches the log') });
  // It may print progress if it takes long.
  expect(verified.stderr).toMatch(/^(\d+ of \d+ events, \d+ a second(, \d+ (s|min|h) left)?\n)*$/);
});

test('replay puts an equal read model in the place of one that was damaged, and leaves nothing else behind', async () => {
  await ask(`truncate ${readModelSchema}.changes, ${readModelSchema}.outcomes`);
  const before = await ask(`select '${readModelSchema}'::regnamespace::oid as id`);
  expect(await runTablog(['replay'], generated.environment)).toMatchObject({ code: 0 });
  const after = await ask(
    `select oid as id, nspname as name from pg_namespace where nspname like '${readModelSchema}%' order by 2`,
  );
  expect(after.rows.map(({ name }) => name)).toEqual([readModelSchema]);
  expect(after.rows[0].id).not.toBe(before.rows[0].id);
  const verified = await runTablog(['verify', '--json'], generated.environment);
  expect(verified).toMatchObject({ code: 0 });
  expect(JSON.parse(verified.stdout)).toMatchObject({ equal: true, differences: [] });
});

test('where the log was found to lack events, replay resumes it, although it has as many as before by now', async () => {
  await ask(
    `update ${readModelSchema}.progress set halted = 'the log lacks records', contradicted = true where partition = 3`,
  );
  const replayed = await runTablog(['replay'], generated.environment);
  expect(replayed).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Partition 3 of the log lacks events that had been projected'),
  });
  const { end } = await generated.log.bounds(3);
  const last = await Array.fromAsync(generated.log.read(3, end - 1n, end));
  expect(last.flat().map(({ bytes }) => decodeEvent(bytes).data)).toEqual([
    { type: 'LogResumed', base: expect.any(BigInt) },
  ]);
});
