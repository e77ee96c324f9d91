/** What a value that does not fit a schema must be, in words. */
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { describeMisfit } from '../../../../src/language/values/describe-misfit.ts';

const whole = z.strictObject({ a: z.int(), b: z.boolean().optional() });

test.each<[z.ZodType, unknown, string]>([
  [z.string(), undefined, 'required'],
  [z.string(), 7, 'must be a string, not a number'],
  [z.string(), null, 'must be a string, not null'],
  [z.array(z.string()), {}, 'must be an array, not an object'],
  [z.record(z.string(), z.string()), [], 'must be an object, not an array'],
  [z.boolean(), 'yes', 'must be true or false, not a string'],
  [z.number(), false, 'must be a number, not false'],
  [z.literal('a'), 'b', 'must be "a"'],
  [z.enum(['a', 'b']), 'c', 'must be "a" or "b"'],
  [z.enum(['a', 'b', 'c']), 7, 'must be "a", "b" or "c"'],
  [whole, { a: 1, c: 1 }, 'there is no property "c"'],
  [whole, { a: 1, c: 1, d: 1 }, 'there is no property "c" or "d"'],
  [z.array(z.string()).max(2), ['', '', ''], 'must have at most 2 items'],
  [z.string().min(3), '', 'must have at least 3 characters'],
  [z.number().min(3), 2, 'must be at least 3'],
  [z.string().min(1, 'must not be empty'), '', 'must not be empty'],
])('the message of a schema for a value says what it must be: %#', (schema, value, message) => {
  const { error } = schema.safeParse(value, { error: describeMisfit });
  expect(error!.issues[0]!.message).toBe(message);
});
