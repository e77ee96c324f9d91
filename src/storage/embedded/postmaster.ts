/** The server process of a cluster: finding, starting and ending it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { Cluster } from './cluster.ts';
import { environment } from './native-package.ts';
import { commandLine, isAlive, signal } from './processes.ts';

/** A custom setting, which Postgres ignores. It shows in the process list, and can be queried in SQL. */
export const DATA_SETTING = 'tablog.data';

interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** False while it starts, recovers or stops. */
  readonly ready: boolean;
}

/** The running postmaster of the data folder. A PID file that names another process is removed. */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const path = join(data, 'postmaster.pid');
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  // Line by line: PID, folder, start time, port, socket folder, address, shared memory, status.
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  // Postgres itself replaces the file of a dead postmaster, once its children have released its shared memory.
  if (!(pid > 0) || !(await isAlive(pid))) return undefined;
  const command = await commandLine(pid);
  if (command === '') return undefined;
  if (command !== undefined && !command.includes(`${DATA_SETTING}=${data}`)) {
    // After a reboot another process may have the PID, and Postgres would refuse to start.
    if ((await readIfThere(path)) === text) await rm(path, { force: true });
    return undefined;
  }
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/**
 * Starts a postmaster on a port of 127.0.0.1. It has its own process group, so that Ctrl-C does not end it before the
 * processes that use it. Its output goes to a file, so that it can outlive this process. Rejects when the program does
 * not start.
 */
export async function launchPostmaster(
  cluster: Cluster,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const all = {
    ...settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    [DATA_SETTING]: cluster.data,
  };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const output = await open(cluster.serverLog, 'a', 0o600);
  try {
    const child = spawn(cluster.postgres, ['-D', cluster.dataArgument, ...options], {
      ...cluster.user,
      cwd: cluster.data,
      env: environment,
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    await once(child, 'spawn');
    return child;
  } finally {
    await output.close();
  }
}

/**
 * Stops a postmaster and resolves when it is gone. SIGINT makes it disconnect its clients and write its memory to disk.
 * If it still runs after `patienceMs`, SIGQUIT makes it quit at once, and the next start recovers from the write-ahead
 * log. Rejects if SIGQUIT has no effect either.
 */
export async function endPostmaster(pid: number, patienceMs: number): Promise<void> {
  for (const [name, limitMs] of [
    ['SIGINT', patienceMs],
    ['SIGQUIT', 15_000],
  ] as const) {
    const end = Date.now() + limitMs;
    signal(pid, name);
    while (Date.now() < end) {
      if (!(await isAlive(pid))) return;
      await sleep(10);
    }
  }
  throw new EmbeddedPostgresError(
    `Postgres (process ${pid}) does not stop, even after SIGQUIT: end it, then start again.`,
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
