/**
 * The processes of a run: how they start, what memory they took, how they end.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/server.ts';

export interface Server {
  pid: number;
  port: number;
}

export interface ServerOptions {
  name: string;
  /** Arguments of Node: its options and the script. */
  nodeArguments: readonly string[];
  /** Added to this process's environment, with PORT. */
  environment: Record<string, string>;
  /** Takes everything that the server prints. */
  logFile: string;
}

const readyWithinMs = 60_000;
const stoppedWithinMs = 20_000;

/**
 * Starts a server on a free port and waits until its `/readyz` answers 200. `resources` stops it.
 * Rejects with the end of the server's log if it ends or is not ready within a minute.
 */
export async function startServer(
  { name, nodeArguments, environment, logFile }: ServerOptions, resources: AsyncDisposableStack, signal: AbortSignal,
): Promise<Server> {
  const port = await freePort();
  signal.throwIfAborted();
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, nodeArguments, {
    env: { ...process.env, ...environment, PORT: String(port) },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  resources.defer(async () => {
    if (hasFailed(child)) console.error(`${name} had died; ${await endOf(logFile)}`);
    await stop(child, name);
  });
  const giveUpAt = performance.now() + readyWithinMs;
  while (!(await isReady(port))) {
    signal.throwIfAborted();
    if (hasEnded(child) || performance.now() > giveUpAt) {
      throw new Error(`${name} did not become ready; ${await endOf(logFile)}`);
    }
    await sleep(50);
  }
  return { pid: child.pid!, port };
}

/** Asks `child` to end and waits for it; kills it if it does not. */
export async function stop(child: ChildProcess, name: string): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => {
    console.error(`${name} did not stop within ${stoppedWithinMs / 1_000} s and is killed`);
    child.kill('SIGKILL');
  }, stoppedWithinMs);
  await ended;
  clearTimeout(timer);
}

/** The most memory that a process ever had resident, in MiB; undefined where the system has no `/proc`. */
export async function peakMemoryMiB(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)![1]) / 1_024;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether `child` ended, and not because it was asked to. */
function hasFailed(child: ChildProcess): boolean {
  if (!hasEnded(child) || child.exitCode === 0) return false;
  return child.signalCode !== 'SIGINT' && child.signalCode !== 'SIGTERM';
}

async function endOf(logFile: string): Promise<string> {
  return `its log ends with:\n${(await readFile(logFile, 'utf8')).slice(-4_000)}`;
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  } catch {
    // Nothing listens there yet.
    return false;
  }
}
