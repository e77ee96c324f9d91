import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Ends a child process with SIGKILL, and resolves when it is gone; at once where there is none, or it has ended. */
export async function killChild(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
