import { MIMEType } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../answers/http-error.ts';

type MediaType = 'application/json' | 'application/x-ndjson' | 'text/csv' | 'text/tab-separated-values';

/** Other names of NDJSON, which has no registered media type. */
const aliases: Readonly<Record<string, MediaType>> = {
  'application/ndjson': 'application/x-ndjson',
  'application/jsonl': 'application/x-ndjson',
};

/** The media type of the body. Throws HttpError if it is not accepted, or if the charset is not UTF-8. */
export function readMediaType<T extends MediaType>(request: FastifyRequest, accepted: readonly T[]): T {
  const header = request.raw.headers['content-type'];
  if (header === undefined) throw refusal(`is missing; ${listOf(accepted)} is accepted.`);
  const exact = accepted.find((type) => type === header);
  if (exact !== undefined) return exact;
  const { essence, params } = parseMediaType(header);
  const charset = params.get('charset');
  const type = accepted.find(
    (candidate) => candidate === (Object.hasOwn(aliases, essence) ? aliases[essence] : essence),
  );
  if (type === undefined) throw refusal(`this media type is not supported here; ${listOf(accepted)} is accepted.`);
  if (charset !== null && !/^utf-?8$/i.test(charset)) throw refusal('the charset must be UTF-8.');
  return type;
}

/**
 * Whether the first line of CSV or TSV names the columns, as the parameter `header` of the media type says (RFC 4180).
 * Undefined without that parameter. Throws HttpError for another value.
 */
export function headerParameter(request: FastifyRequest): 'present' | 'absent' | undefined {
  const text = request.raw.headers['content-type'];
  const header = text?.includes(';') ? parseMediaType(text).params.get('header')?.toLowerCase() : undefined;
  if (header === undefined || header === 'present' || header === 'absent') return header;
  throw refusal('header must be present or absent.');
}

/**
 * One text for all spellings of a media type: with its parameters in any order, and a charset in any case. Null if the
 * text is no media type.
 */
export function normalMediaType(text: string): string | null {
  try {
    const { essence, params } = new MIMEType(text);
    const parameters = [...params]
      .map(([name, value]) => [name, name === 'charset' ? value.toLowerCase() : value])
      .toSorted(([a], [b]) => (a! < b! ? -1 : 1));
    return JSON.stringify([essence, parameters]);
  } catch {
    // MIMEType throws only for an invalid media type.
    return null;
  }
}

function parseMediaType(text: string): Pick<MIMEType, 'essence' | 'params'> {
  try {
    return new MIMEType(text);
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
