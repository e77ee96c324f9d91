/** The command line as its users run it: a process, what it writes, and how it ends. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const tablog = fileURLToPath(new URL('../../src/cli/tablog.ts', import.meta.url));

export interface TablogResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What it comes to, and the process meanwhile. */
export type RunningTablog = Promise<TablogResult> & { readonly child: ChildProcess };

/**
 * Runs `tablog` with these arguments, and these variables over those of this process. `stdin`: what it is to read. `wrapper`: a
 * command that runs it.
 */
export function runTablog(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = [],
  stdin: 'ignore' | Readable = 'ignore',
  wrapper: readonly string[] = [],
): RunningTablog {
  const [command, ...commandArgs] = [...wrapper, process.execPath, ...nodeArgs, tablog, ...args];
  const child = spawn(command!, commandArgs, {
    env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: '', ...environment },
    stdio: [stdin === 'ignore' ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  // A command that ends before it has read all breaks the pipe, and what it wrote says why.
  if (stdin !== 'ignore') stdin.pipe(child.stdin!.on('error', () => stdin.destroy()));
  const result = Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]).then(([stdout, stderr]) => {
    return { code: child.exitCode, stdout, stderr };
  });
  return Object.assign(result, { child });
}
