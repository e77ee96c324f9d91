/** Error handling of a process: reports an error of the user in a sentence, and a bug with its stack. */
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
  // Everything is closed by now. But if a consumer group rebalances while this process leaves it, kafkajs may open
  // another connection, and the process would never exit by itself. The callback runs once stdout is flushed.
  process.stdout.write('', () => process.exit());
}

/** The error as the user sees it: a sentence, or the stack of a bug. */
function describeError(error: unknown): string {
  if (isServerError(error)) return describeServerError(error);
  return error instanceof UserError ? error.message : describeFailure(error);
}
