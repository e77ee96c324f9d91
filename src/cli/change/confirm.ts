/** Asks the user before a change. */
import { createInterface } from 'node:readline';
import { UserError } from '../user-error.ts';

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

/** Whether a user can be asked: both streams are a terminal. */
export function canAsk({ input, output }: Terminal = { input: process.stdin, output: process.stderr }): boolean {
  return input.isTTY === true && output.isTTY === true;
}

/**
 * Asks a question that is answered by y or yes. Throws UserError for any other answer, also for the end of the input.
 * Rejects with the reason of the signal when it aborts.
 */
export async function confirm(
  question: string,
  signal: AbortSignal,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  output.write(`${question} [y/N] `);
  // Not as a terminal: then Ctrl-C is a signal to the process, as always.
  const lines = createInterface({ input, terminal: false });
  const answered = new Promise<string>((resolve, reject) => {
    lines.once('line', resolve).once('close', () => resolve(''));
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    if (!/^\s*y(es)?\s*$/i.test(await answered)) throw new UserError('Nothing was changed.');
  } finally {
    lines.close();
  }
}
