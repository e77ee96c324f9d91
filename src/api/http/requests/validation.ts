/** Validates parts of requests with zod. Its errors have the wording of the interface. */
import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { describeMisfit } from '../../../language/values/describe-misfit.ts';
import { HttpError } from '../answers/http-error.ts';

/** The prefix of messages for each part of a request. Places in a body have no prefix (`rows[3].age`). */
const partNames: Readonly<Record<string, string>> = { querystring: 'query', params: 'path', headers: 'header' };

/** Validates route schemas. Used by Fastify for the query and the path of each request. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  const part = partNames[httpPart ?? ''] ?? '';
  // Most requests have no query: compute its result once.
  const withoutQuery = httpPart === 'querystring' ? schema.safeParse({}) : null;
  return (value: unknown) => {
    if (withoutQuery?.success && isEmpty(value)) return { value: withoutQuery.data };
    const result = schema.safeParse(value, { error: describeMisfit });
    return result.success ? { value: result.data } : { error: toRefusal(result.error, part) };
  };
};

function isEmpty(value: unknown): boolean {
  for (const _key in value as object) return false;
  return true;
}

/**
 * Validates a value and returns the parsed one. `part` is the prefix of the message (`If-Match`, `query`); empty for a
 * body. Throws HttpError `request_validation_error`.
 */
export function parseOrRefuse<S extends z.ZodType>(schema: S, value: unknown, part: string): z.output<S> {
  const result = schema.safeParse(value, { error: describeMisfit });
  if (!result.success) throw toRefusal(result.error, part);
  return result.data;
}

function toRefusal(error: z.ZodError, part: string): HttpError {
  return new HttpError('request_validation_error', describeIssue(error.issues[0]!, part));
}

/** Describes the first problem, with its place. */
function describeIssue(issue: z.core.$ZodIssue, part: string): string {
  if (issue.code === 'unrecognized_keys') {
    const place = placeOf([...issue.path, issue.keys[0]!], part);
    return `${place}: there is no such ${part === 'query' ? 'query parameter' : 'property'}.`;
  }
  const place = placeOf(issue.path, part) || 'body';
  return `${place}: ${issue.message}`;
}

/** `['rows', 3, 'age']` gives `rows[3].age`. */
function placeOf(path: readonly PropertyKey[], part: string): string {
  return path.reduce<string>((place, key) => {
    if (typeof key === 'number') return `${place}[${key}]`;
    return place === '' ? String(key) : `${place}.${String(key)}`;
  }, part);
}
