/** The packaged Postgres on its own folder, in this process and in others. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/storage/embedded/embedded-postgres.ts';
import { findPostmaster } from '../../src/storage/embedded/postmaster.ts';
import { isAlive } from '../../src/storage/embedded/processes.ts';
import { limitMs } from './time-limits.ts';

const MODULE = new URL('../../src/storage/embedded/embedded-postgres.ts', import.meta.url).href;

/** Call these within tests. */
interface EmbeddedFolder {
  /** The folder of the database, which has already been started and stopped. */
  folder(): string;
  /** The parent of that folder. */
  outer(): string;
  /** Replaces it by a folder in which nothing has been started. */
  startsAnew(): void;
  /** The log lines of the server. */
  lines(): readonly string[];
  start(settings?: Record<string, string>): Promise<EmbeddedPostgres>;
  /** Starts the server in another process, which waits to be killed, at the latest by the end of the test. */
  spawnStart(): ChildProcess;
  /** As `spawnStart`; resolves once the server has started. */
  startInAnotherProcess(): Promise<{ process: ChildProcess; pid: number; adopted: boolean }>;
}

/**
 * Gives each test a folder with a stopped Postgres. After the test, kills the processes that are still running, and
 * removes the folder.
 */
export function useEmbeddedFolder(): EmbeddedFolder {
  /** The result of a first start, which takes most of the time. Tests copy it. */
  let prepared: string;
  let outer: string;
  let folder: string;
  let lines: string[];
  let parents: ChildProcess[];

  beforeAll(async () => {
    prepared = await newFolder();
    await (await startEmbeddedPostgres({ folder: join(prepared, 'postgres'), log: () => undefined })).stop();
  });

  afterAll(() => rm(prepared, { recursive: true, force: true }));

  beforeEach(async () => {
    outer = await newFolder();
    folder = join(outer, 'postgres');
    await promisify(execFile)('cp', ['-a', join(prepared, 'postgres'), folder]);
    lines = [];
    parents = [];
  });

  afterEach(async () => {
    for (const parent of parents) parent.kill('SIGKILL');
    const left = await findPostmaster(join(folder, 'cluster', 'data'));
    if (left !== undefined) await (await start()).stop();
    await rm(outer, { recursive: true, force: true });
  });

  function start(settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
    return startEmbeddedPostgres({
      folder,
      settings,
      log: (line) => lines.push(line),
      startTimeoutMs: limitMs(60_000),
    });
  }

  function spawnStart(): ChildProcess {
    const script = `
      import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)};
      const { pid, adopted } = await startEmbeddedPostgres({ folder: ${JSON.stringify(folder)}, log: () => {} });
      console.log(JSON.stringify({ pid, adopted }));`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    parents.push(parent);
    return parent;
  }

  return {
    folder: () => folder,
    outer: () => outer,
    startsAnew: () => {
      folder = join(outer, 'new');
    },
    lines: () => lines,
    start,
    spawnStart,
    startInAnotherProcess: async () => {
      const parent = spawnStart();
      const [line] = (await once(createInterface(parent.stdout!), 'line')) as [string];
      return { process: parent, ...(JSON.parse(line) as { pid: number; adopted: boolean }) };
    },
  };
}

async function newFolder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'tablog-embedded-'));
  await chmod(made, 0o755);
  return made;
}

/** A connection whose break does not fail the test. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = await connect(url);
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await sleep(20);
}

/** Kills a process, and waits until it is gone. */
export async function killProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(async () => !(await isAlive(pid)));
}
