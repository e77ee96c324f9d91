/**
 * The frame of every benchmark: a temporary folder, cleanup, an early end on Ctrl-C, and errors printed as a sentence.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onStopSignal } from '../src/app/stop-signals.ts';

export interface Surroundings {
  /** A folder that is removed at the end. */
  folder: string;
  /** Closed at the end, before the folder is removed. */
  resources: AsyncDisposableStack;
  /** Aborts with an Error when the benchmark must end early. */
  signal: AbortSignal;
}

/** Runs a benchmark. If it rejects, prints the error and sets exit code 1. */
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
