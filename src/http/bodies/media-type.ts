import { MIMEType } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../answers/http-error.ts';

export type MediaType = 'application/json' | 'text/csv' | 'text/tab-separated-values';

/** The media type of the body. Throws HttpError if it is not accepted, for a charset other than UTF-8, or for CSV without a header line. */
export function readMediaType<T extends MediaType>(request: FastifyRequest, accepted: readonly T[]): T {
  const header = request.raw.headers['content-type'];
  if (header === undefined) throw refusal(`is missing; ${listOf(accepted)} is accepted.`);
  const exact = accepted.find((type) => type === header);
  if (exact !== undefined) return exact;
  const { essence, charset, header: firstLine } = parseMediaType(header);
  const type = accepted.find((candidate) => candidate === essence);
  if (type === undefined) throw refusal(`this media type is not supported here; ${listOf(accepted)} is accepted.`);
  if (charset !== null && !/^utf-?8$/i.test(charset)) throw refusal('the charset must be UTF-8.');
  // RFC 4180: whether the first line names the columns.
  if (firstLine !== null && firstLine.toLowerCase() !== 'present') throw refusal('the first line must name the columns: header=present.');
  return type;
}

/** The canonical form of a media type; null for a text that is none. */
export function normalMediaType(text: string): string | null {
  try {
    return String(new MIMEType(text));
  } catch {
    // As below.
    return null;
  }
}

function parseMediaType(text: string): { readonly essence: string; readonly charset: string | null; readonly header: string | null } {
  try {
    const { essence, params } = new MIMEType(text);
    return { essence, charset: params.get('charset'), header: params.get('header') };
  } catch {
    // MIMEType throws only for an invalid media type.
    throw refusal('is not a media type.');
  }
}

function listOf(types: readonly MediaType[]): string {
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(types);
}

function refusal(text: string): HttpError {
  return new HttpError('request_validation_error', `Content-Type: ${text}`);
}
