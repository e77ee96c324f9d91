/**
 * The processes of a run: starting them, their peak memory, ending them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/server.ts';

export interface Server {
  pid: number;
  port: number;
  /**
   * Ends the server with a signal and waits for its exit. Rejects if it had ended before, or if SIGTERM did not end it
   * cleanly.
   */
  end(signal: Ending): Promise<void>;
  /** Waits until the server has ended by itself. Rejects after a minute. */
  untilEnded(): Promise<void>;
}

/** How a process is ended: gracefully, or killed. */
export type Ending = 'SIGTERM' | 'SIGKILL';

export interface ServerOptions {
  name: string;
  /** Arguments for Node: its options and the script. */
  nodeArguments: readonly string[];
  /** Added to this process's environment, together with PORT. */
  environment: Record<string, string>;
  /** Receives everything that the server prints. */
  logFile: string;
  /** Default: a free port. */
  port?: number | undefined;
}

const readyWithinMs = 60_000;
const stoppedWithinMs = 20_000;
const endedWithinMs = 60_000;

/**
 * Starts a server on a free port and waits until its `/readyz` answers 200. `resources` stops it.
 * Rejects with the end of the server's log if it ends or is not ready within a minute.
 */
export async function startServer(
  { name, nodeArguments, environment, logFile, port: given }: ServerOptions,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Server> {
  const port = given ?? (await freePort());
  signal.throwIfAborted();
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, nodeArguments, {
    env: { ...process.env, ...environment, PORT: String(port) },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let wasEnded = false;
  resources.defer(async () => {
    if (!wasEnded && hasFailed(child)) console.error(`${name} had died; ${await endOf(logFile)}`);
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
  const end = async (ending: Ending): Promise<void> => {
    if (hasEnded(child)) throw new Error(`${name} had died`);
    wasEnded = true;
    await stop(child, name, ending);
    if (ending === 'SIGTERM' && child.exitCode !== 0) throw new Error(`${name} ended badly; ${await endOf(logFile)}`);
  };
  const untilEnded = async (): Promise<void> => {
    wasEnded = true;
    if (!hasEnded(child))
      await once(child, 'exit', { signal: AbortSignal.any([signal, AbortSignal.timeout(endedWithinMs)]) });
  };
  return { pid: child.pid!, port, end, untilEnded };
}

/** Runs a Node script to its end, as `runProgram` does. */
export function runScript(
  nodeArguments: readonly string[],
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  return runProgram(process.execPath, nodeArguments, environment, signal);
}

/**
 * Runs a program to its end; resolves to its stdout. Rejects if it fails, with its whole output, and if `signal` is
 * aborted, with the reason, once the program has ended.
 */
export async function runProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const name = [program, ...args].join(' ');
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const giveUp = (): void => void stop(child, name);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    signal.throwIfAborted();
    if (child.exitCode === 0) return output;
    throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}:\n${output}${errors}`);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Ends a process with SIGTERM or SIGKILL and waits for its exit. If SIGTERM does not end it in time, kills it. */
export async function stop(child: ChildProcess, name: string, ending: Ending = 'SIGTERM'): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill(ending);
  const timer = setTimeout(() => {
    console.error(`${name} did not stop within ${stoppedWithinMs / 1_000} s and is killed`);
    child.kill('SIGKILL');
  }, stoppedWithinMs);
  await ended;
  clearTimeout(timer);
}

/** The peak resident memory of a process, in MiB; undefined if the system has no `/proc`. */
export function peakMemoryMiB(pid: number): Promise<number | undefined> {
  return readMemoryMiB(pid, /^VmHWM:\s+(\d+) kB/m);
}

/** The resident memory of a process now, in MiB; undefined if the system has no `/proc`. */
export function memoryMiB(pid: number): Promise<number | undefined> {
  return readMemoryMiB(pid, /^VmRSS:\s+(\d+) kB/m);
}

/** The only child of a process; undefined if the system has no `/proc`. */
export async function childOf(pid: number): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))
    .trim()
    .split(' ')
    .filter((text) => text !== '');
  if (children.length !== 1) throw new Error(`the process ${pid} has ${children.length} children, not one`);
  return Number(children[0]);
}

async function readMemoryMiB(pid: number, line: RegExp): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined;
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(line.exec(status)![1]) / 1_024;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether `child` ended other than with exit code 0 or by SIGINT or SIGTERM. */
function hasFailed(child: ChildProcess): boolean {
  if (!hasEnded(child) || child.exitCode === 0) return false;
  return child.signalCode !== 'SIGINT' && child.signalCode !== 'SIGTERM';
}

/** The end of what a server has printed. */
export async function endOf(logFile: string): Promise<string> {
  return `its log ends with:\n${(await readFile(logFile, 'utf8')).slice(-4_000)}`;
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  } catch {
    // Nothing listens yet.
    return false;
  }
}
