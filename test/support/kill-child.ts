import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Kills a child process with SIGKILL; resolves when it has exited, or at once if there is no running process. */
export async function killChild(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
