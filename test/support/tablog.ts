/** Runs the command line as its users do: as a process, with its output and exit code. */
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

/** The result, and the process while it runs. */
export type RunningTablog = Promise<TablogResult> & { readonly child: ChildProcess };

/**
 * Runs `tablog` with these arguments, and these variables in addition to this process's environment. `stdin`: its
 * input. `wrapper`: a command that runs it.
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
  // If a command ends before it has read everything, the pipe breaks. The output of the command says why it ended.
  if (stdin !== 'ignore') stdin.pipe(child.stdin!.on('error', () => stdin.destroy()));
  const result = Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')]).then(
    ([stdout, stderr]) => {
      return { code: child.exitCode, stdout, stderr };
    },
  );
  return Object.assign(result, { child });
}

/** Runs a command that must succeed. Resolves to its stdout. */
export async function outputOf(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  const { code, stdout, stderr } = await runTablog(args, environment);
  if (code !== 0) throw new Error(`tablog ${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout.trim();
}
