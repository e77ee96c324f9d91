/** Texts for values that do not fit a zod schema, in the words of the interface. */
import type { z } from 'zod';

/** How types of JSON are called with an article. */
const types: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};

/**
 * What a value must be, after its place: `must be a string, not a number`. Undefined for a rule that has a message of
 * its own. Is given to `safeParse` as `error`.
 */
export function describeMisfit(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type': {
      if (issue.input === undefined) return 'required';
      const expected = types[issue.expected];
      return expected === undefined ? undefined : `must be ${expected}, not ${typeOf(issue.input)}`;
    }
    case 'invalid_value':
      return `must be ${listOf(issue.values.map((value) => JSON.stringify(value)))}`;
    case 'unrecognized_keys': {
      const names = issue.keys.map((key) => JSON.stringify(key));
      return `there is no property ${listOf(names)}`;
    }
    case 'too_small':
    case 'too_big': {
      const [bound, limit] = issue.code === 'too_small' ? ['at least', issue.minimum] : ['at most', issue.maximum];
      const unit = units[issue.origin];
      return unit === undefined ? `must be ${bound} ${limit}` : `must have ${bound} ${limit} ${unit}`;
    }
    default:
      return undefined;
  }
}

const units: Readonly<Record<string, string>> = { string: 'characters', array: 'items', object: 'properties' };

function typeOf(input: unknown): string {
  if (input === null) return 'null';
  if (typeof input === 'boolean') return String(input);
  return types[Array.isArray(input) ? 'array' : typeof input] ?? typeof input;
}

/** `a`, `a or b`, `a, b or c`. */
function listOf(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;
}
