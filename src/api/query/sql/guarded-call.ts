/** Function calls that are checked at run time. */
import { quoteText } from './literals.ts';

/** A check of one call at run time. */
export interface Guard {
  /** The SQL condition that is true if the arguments exceed the bound. `places` are the arguments in SQL. */
  readonly isBeyond: (...places: readonly string[]) => string;
  /** The error message for the client; null: the call gives NULL instead of an error. */
  readonly message: string | null;
}

/** The bytes of a value as a text, in SQL. */
export const byteLengthSql = (place: string): string => `strlen(CAST(${place} AS VARCHAR))`;

/** The prefix of the errors of guards, which distinguishes them from other errors. */
const mark = 'limit_exceeded: ';

/** The message of a guard in an error of the engine; null in any other error. */
export function beyondBound(error: string): string | null {
  const at = error.indexOf(mark);
  return at < 0 ? null : error.slice(at + mark.length).split('\n')[0]!;
}

/** A name that no column or parameter of a query can have (names.ts). */
const row = '_v';

/** An argument of a call, in SQL. */
interface Argument {
  readonly text: string;
  /** Whether the argument has the same value for each row. Some functions require that of their options. */
  readonly isConstant: boolean;
}

/**
 * A call with its guard. A lambda over a list of one row names the arguments, so that each is computed once. If an
 * argument were in the condition and in the call, a random one could pass the condition with another value, and nested
 * calls would double.
 */
export function guardedCall(
  given: readonly Argument[],
  guard: Guard,
  call: (...places: readonly string[]) => string,
): string {
  const places = given.map(({ text, isConstant }, at) => (isConstant ? text : `${row}.a${at}`));
  const members = given.flatMap(({ text, isConstant }, at) => (isConstant ? [] : [`'a${at}': ${text}`]));
  const instead = guard.message === null ? 'NULL' : `error(${quoteText(`${mark}${guard.message}`)})`;
  const guarded = `CASE WHEN ${guard.isBeyond(...places)} THEN ${instead} ELSE ${call(...places)} END`;
  return members.length === 0 ? guarded : `apply([{${members.join(', ')}}], (lambda ${row}: ${guarded}))[1]`;
}
