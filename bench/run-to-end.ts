/** What every benchmark has around it: a folder, what is to be closed, an end on Ctrl-C, and errors as a sentence. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onStopSignal } from '../src/app/stop-signals.ts';

export interface Surroundings {
  /** A folder that is removed at the end. */
  folder: string;
  /** Closed at the end, before the folder is removed. */
  resources: AsyncDisposableStack;
  /** Aborted, with an Error, when the benchmark is to end early. */
  signal: AbortSignal;
}

/** Runs a benchmark. What it rejects with is printed, and the exit code is 1 then. */
export async function runToEnd(work: (surroundings: Surroundings) => Promise<void>): Promise<void> {
  const interrupt = new AbortController();
  onStopSignal((signal) => interrupt.abort(new Error(`stopped by ${signal}`)), console.error);
  const { signal } = interrupt;
  try {
    await using resources = new AsyncDisposableStack();
    const folder = await mkdtemp(join(tmpdir(), 'tablog-bench-'));
    resources.defer(() => rm(folder, { recursive: true, force: true }));
    // Postgres may run as another user than this process.
    await chmod(folder, 0o755);
    await work({ folder, resources, signal });
  } catch (error) {
    console.error(((signal.aborted ? signal.reason : error) as Error).message);
    process.exitCode = 1;
  }
}
