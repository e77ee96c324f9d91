/** Chooses the media type of an answer: the client's preferred one (`Accept`) among those of the operation. */
import type { FastifyReply, preValidationHookHandler } from 'fastify';
import Negotiator from 'negotiator';
import type { Operation } from '../openapi/operation.ts';
import { replyWithError } from './error-reply.ts';
import { varyBy } from './vary.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client's preferred media type among those of the operation. */
    answerType: string;
  }
}

/**
 * The media types of an operation's successful answers. Empty if they have no body, or are files, which have any type.
 */
export function answerTypesOf({ answers }: Operation): string[] {
  const types = Object.values(answers).flatMap(({ body = {} }) => Object.keys(body));
  return types.includes('*/*') ? [] : [...new Set(types)];
}

/**
 * The hook that answers 406 if the client accepts none of the operation's media types. Null for an operation without
 * media types.
 */
export function buildAnswerTypeCheck(operation: Operation): preValidationHookHandler | null {
  const types = answerTypesOf(operation);
  if (types.length === 0) return null;
  const { formatParameter } = operation;
  const refusal = `Accept: this path has none of these media types. It answers with ${new Intl.ListFormat('en', { type: 'disjunction' }).format(types)}.`;
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

/** Whether the client prefers CSV, on a route that answers in JSON or CSV. */
export function isCsvAsked(reply: FastifyReply): boolean {
  return varyBy(reply, 'Accept').request.answerType === 'text/csv';
}

/**
 * The type that the client prefers, the first one if it prefers several; null if it accepts none. A header that names
 * no media type counts as absent.
 */
export function chooseType(accept: string | undefined, types: readonly string[]): string | null {
  if (accept === undefined || !accept.includes('/')) return types[0]!;
  // Ignore all parameters but `q`: clients send versions, profiles and charsets, which make no difference here.
  const withoutParameters = accept.replaceAll(/;(?!\s*q\s*=)[^,;]*/gi, '');
  return new Negotiator({ headers: { accept: withoutParameters } }).mediaType([...types]) ?? null;
}
