/** Error handling of a process: user errors are reported in a sentence, bugs with their stack. */
import { describeFailure } from '../app/describe-failure.ts';
import { describeServerError, isServerError } from './client/server-error.ts';
import { UserError } from './user-error.ts';

/** Runs the work of a process, and exits. On failure, reports it on stderr and sets the exit code to 1. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
  // Everything is closed by now, but kafkajs may open a connection if a consumer group rebalances while it is left, and
  // the process would never exit. The callback waits until stdout is flushed.
  process.stdout.write('', () => process.exit());
}

/** The error as its user sees it: a sentence, or the stack of a bug. */
function describeError(error: unknown): string {
  if (isServerError(error)) return describeServerError(error);
  return error instanceof UserError ? error.message : describeFailure(error);
}
