/** Of which media type an answer is: the one that the client prefers (`Accept`) of those that its operation has. */
import type { FastifyReply, preValidationHookHandler } from 'fastify';
import Negotiator from 'negotiator';
import type { Operation } from '../openapi/operation.ts';
import { replyWithError } from './error-reply.ts';
import { varyBy } from './vary.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The media type that the client prefers of those that the operation has. */
    answerType: string;
  }
}

/**
 * The media types of the successes of an operation. None if it answers without a body, or with files, which are of any
 * type.
 */
export function answerTypesOf({ answers }: Operation): string[] {
  const types = Object.values(answers).flatMap(({ body = {} }) => Object.keys(body));
  return types.includes('*/*') ? [] : [...new Set(types)];
}

/**
 * The hook that answers 406 if the client accepts nothing that the operation has. Null for an operation that has no
 * media type.
 */
export function buildAnswerTypeCheck(operation: Operation): preValidationHookHandler | null {
  const types = answerTypesOf(operation);
  if (types.length === 0) return null;
  const { formatParameter } = operation;
  const refusal = `Accept: none of it is there. This path answers with ${new Intl.ListFormat('en', { type: 'disjunction' }).format(types)}.`;
  return function preValidation(request, reply, done): void {
    if (formatParameter !== undefined && Object.hasOwn(request.query as object, formatParameter)) {
      done();
      return;
    }
    const type = chooseType(request.raw.headers.accept, types);
    if (type === null) {
      replyWithError(reply, 'not_acceptable', refusal);
      return;
    }
    request.answerType = type;
    done();
  };
}

/** Whether the answer is to be CSV, on routes that have that too. */
export function isCsvAsked(reply: FastifyReply): boolean {
  return varyBy(reply, 'Accept').request.answerType === 'text/csv';
}

/**
 * The first of the types that the client prefers; null if it accepts none. A header that names no media type asks for
 * nothing.
 */
export function chooseType(accept: string | undefined, types: readonly string[]): string | null {
  if (accept === undefined || !accept.includes('/')) return types[0]!;
  // Clients name versions, profiles and charsets, which make no difference here.
  const withoutParameters = accept.replaceAll(/;(?!\s*q\s*=)[^,;]*/gi, '');
  return new Negotiator({ headers: { accept: withoutParameters } }).mediaType([...types]) ?? null;
}
