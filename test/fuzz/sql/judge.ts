/** What is wrong with an answer to SQL. */
import { outcomeOf, type Answer } from '../../support/client.ts';

/** What any SELECT may be answered. */
const allowed: ReadonlySet<string> = new Set(['200', '400 query_invalid', '400 limit_exceeded', '408 query_timeout']);

/** How the message of an answer begins whose query ended the process. */
const ending = 'The SQL of the team ended the process';

/** Null for an answer that is allowed. */
export function problemOf(answer: Answer): string | null {
  const message = String(answer.json?.error?.message ?? '');
  if (message.startsWith(ending)) return `it ended the process: ${message}`;
  const outcome = outcomeOf(answer);
  if (!allowed.has(outcome)) return `${outcome}: ${message}`;
  return null;
}
