/** Ends processes as a power cut does: without warning, and together. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPostmaster } from '../../src/storage/embedded/postmaster.ts';
import { isAlive, signal } from '../../src/storage/embedded/processes.ts';
import { sleepUntil, type TestServer } from '../support/server.ts';

const run = promisify(execFile);

/** The process ID of the embedded Postgres of a server's folder, if one is running. */
export async function postmasterOf({ folder }: TestServer): Promise<number | undefined> {
  return (await findPostmaster(join(folder, 'postgres', 'cluster', 'data')))?.pid;
}

/** The server, its embedded Postgres, and all processes that they have started. */
export async function processesOf(server: TestServer): Promise<number[]> {
  return withDescendants([server.process.pid!, (await postmasterOf(server)) ?? []].flat());
}

/** Processes, and all processes that they have started. */
export async function withDescendants(pids: readonly number[]): Promise<number[]> {
  const found = [...pids];
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const parents = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number]);
  for (const parent of found) {
    found.push(...parents.filter(([pid, ppid]) => ppid === parent && !found.includes(pid)).map(([pid]) => pid));
  }
  return found;
}

/** Kills processes at once, and resolves when they are gone. */
export async function killProcesses(pids: readonly number[]): Promise<void> {
  for (const pid of pids) signal(pid, 'SIGKILL');
  await untilGone(pids);
}

export async function untilGone(pids: readonly number[]): Promise<void> {
  const areGone = async (): Promise<boolean> => !(await Promise.all(pids.map(isAlive))).includes(true);
  await sleepUntil(areGone, `the processes ${pids.join(', ')} are gone`);
}

/** Kills a server with everything that belongs to it. */
export async function killEverything(server: TestServer): Promise<void> {
  const { process: child } = server;
  const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null;
  await killProcesses(await processesOf(server));
  await exited;
}
