/** The command line as its users run it: a process, what it writes, and how it ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const tablog = fileURLToPath(new URL('../../src/cli/tablog.ts', import.meta.url));

export interface TablogResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `tablog` with these arguments, and these variables over those of this process. */
export async function runTablog(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  nodeArgs: readonly string[] = [],
): Promise<TablogResult> {
  const child = spawn(process.execPath, [...nodeArgs, tablog, ...args], {
    env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}
