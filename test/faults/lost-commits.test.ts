/**
 * Postgres restarts from an old copy of its disk, and does not know that there was more. Lost data is gone, but no
 * issued version, ETag or row ID means something else afterwards. promoted-standby.test.ts has the losses that Postgres
 * knows of.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from '@jest/globals';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { sleepUntil, startServer, type TestServer } from '../support/server.ts';
import { CutLine } from './cut-line.ts';
import { deploy } from './deployment.ts';
import { verify } from './verify.ts';

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

interface Lossy {
  readonly servers: readonly TestServer[];
  readonly clients: readonly Client[];
  readonly databaseUrl: string;
  /** Ends Postgres, and starts it from the copy that was made at the start. */
  loseCommits(): Promise<void>;
}

async function start(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ folder, log: () => undefined });
}

/** Two processes on a Postgres that was copied just after they had started. */
async function deployOnCopied(): Promise<Lossy> {
  const folder = await mkdtemp(join(tmpdir(), 'tablog-lost-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const [original, copy] = [join(folder, 'original'), join(folder, 'copy')];
  let postgres = await start(original);
  closers.push(() => postgres.stop());
  const line = await CutLine.open(portOf(postgres));
  closers.push(() => line.close());
  const url = new URL(postgres.url);
  url.port = String(line.port);
  const { servers, clients } = await deploy(2, url.href);
  closers.push(() => Promise.all(servers.map((server) => server.stop())));
  const restart = async (on: string): Promise<void> => {
    postgres = await start(on);
    line.target = portOf(postgres);
  };
  await postgres.stop();
  // Keeps the owner, which may be another user.
  await promisify(execFile)('cp', ['-a', original, copy]);
  await restart(original);
  return {
    servers,
    clients,
    databaseUrl: url.href,
    loseCommits: async () => {
      await postgres.stop();
      line.cut(0);
      await restart(copy);
    },
  };
}

function portOf({ url }: EmbeddedPostgres): number {
  return Number(new URL(url).port);
}

/** Repeats a write until it is accepted. */
async function untilTaken<T extends { readonly status: number }>(write: () => Promise<T>): Promise<T> {
  let answer: T | undefined;
  await sleepUntil(async () => (answer = await write()).status < 300, 'the write is taken');
  return answer!;
}

test('processes restart, and versions and row IDs rise above the lost ones', async () => {
  const {
    servers,
    clients: [one, other],
    databaseUrl,
    loseCommits,
  } = await deployOnCopied();
  const created = await untilTaken(() => one!.post('/tables', { name: 'lost', rows: [{ n: 1 }, { n: 2 }] }));
  const { tableID, rowIDs } = created.json.data;
  const path = `/tables/${tableID}/rows`;
  const versions: bigint[] = [];
  for (let n = 10; n < 40; n += 1) {
    const patched = await other!.send(`${path}/${rowIDs[0]}`, { method: 'PATCH', body: { n } });
    versions.push(patched.version!);
  }
  // All processes have seen the end of the log.
  await sleepUntil(
    async () => (await one!.get(`${path}/${rowIDs[0]}`)).version === versions.at(-1),
    'both have read it',
  );
  await new Promise((resolve) => setTimeout(resolve, 1500));

  const ended = Promise.all(servers.map(({ process }) => once(process, 'exit')));
  await loseCommits();
  expect((await ended).map(([code]) => code)).toEqual([1, 1]);
  for (const server of servers) expect(server.output()).toMatch(/Postgres lost commits/);

  const again = await startServer({ databaseUrl });
  closers.push(() => again.stop());
  const client = new Client(again.url, one!.token);
  expect((await client.get(`/tables/${tableID}`)).status).toBe(404);
  // The same requests again, as clients would send them. None of the old names means anything in the new table.
  const second = await client.post('/tables', { name: 'lost', rows: [{ n: 1 }, { n: 2 }] });
  expect(outcomeOf(second)).toBe('201');
  const newPath = `/tables/${second.json.data.tableID}/rows`;
  expect(second.version!).toBeGreaterThan(versions.at(-1)!);
  expect(second.json.data.rowIDs.filter((id: string) => rowIDs.includes(id))).toEqual([]);
  for (const id of rowIDs) expect(outcomeOf(await client.get(`${newPath}/${id}`))).toBe('404 row_not_found');
  for (const version of versions) {
    const stale = await client.send(`${newPath}/${second.json.data.rowIDs[0]}`, {
      method: 'PATCH',
      body: { n: 0 },
      headers: { 'if-match': `"${version}"` },
    });
    expect(outcomeOf(stale)).toBe('412 precondition_failed');
  }
  expect(await verify({ DATABASE_URL: databaseUrl })).toMatchObject({ exitCode: 0 });
});
