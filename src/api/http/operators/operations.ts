/** Descriptions of the operations of operators. */
import { z } from 'zod';
import type { ErrorType } from '../answers/error-types.ts';
import { jsonContent, type Answer, type Operation } from '../openapi/operation.ts';
import { continuation } from '../openapi/schemas.ts';

export const teamId = z.uuid().meta({ description: 'The ID of the team.' });
export const moment = z.iso.datetime().nullable();
export const count = z.int().min(0);

export const pathOfTeam = {
  teamID: z.string().meta({ description: 'The ID of a team.', examples: ['0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e'] }),
};

/** The `config` of a route of operators. Its operation is no command of a team, so it has no `Idempotency-Key`. */
export function forOperators(
  operationId: string,
  summary: string,
  description: string,
  { errors = [], ...rest }: Pick<Operation, 'path' | 'answers' | 'body' | 'errors'>,
): { readonly operation: Operation; readonly forOperators: true } {
  // The reader of rows also reads these bodies: it refuses an array with too many columns.
  const ofBody: readonly ErrorType[] = rest.body === undefined ? [] : ['limit_exceeded'];
  return {
    operation: {
      operationId,
      tag: 'Operators',
      summary,
      description,
      isCommand: false,
      errors: [...ofBody, ...errors],
      ...rest,
    },
    forOperators: true,
  };
}

/** The answer `{data}`. */
export function answerWithData(description: string, schema: z.ZodType, example: unknown): Answer {
  return { description, body: jsonContent(z.strictObject({ data: schema }), { example: { data: example } }) };
}

/** A page of a list. */
export function answerWithPage(description: string, item: z.ZodType, example: unknown): Answer {
  return {
    description,
    body: jsonContent(z.strictObject({ data: z.array(item), continuation }), { example: { data: [example] } }),
  };
}
