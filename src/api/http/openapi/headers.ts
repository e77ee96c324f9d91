/** The headers of requests and answers, as described in the document. */
import { z } from 'zod';
import { idempotencyKey } from '../submit/idempotency.ts';
import { ifMatchHeader, ifNoneMatchHeader, ifRange } from '../requests/versions.ts';

/** Request headers. They have no examples: pages that try requests out would send them. */
export const requestHeaders = {
  ifMatchRow: {
    name: 'If-Match',
    schema: ifMatchHeader,
    description: 'A version, like `"42"`. The request takes effect only if the row has not changed since then.',
  },
  ifMatchTable: {
    name: 'If-Match',
    schema: ifMatchHeader,
    description: 'A version, like `"42"`. The request takes effect only if the table has not changed since then.',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    schema: ifNoneMatchHeader,
    description: 'Versions that the client has. If the current one is among them, the answer is 304 without a body.',
  },
  range: {
    name: 'Range',
    schema: z.string(),
    description:
      'The part that is asked for, like `bytes=0-1023`. What is no such range, or several, is passed over: the answer is all of the file.',
  },
  ifRange: {
    name: 'If-Range',
    schema: ifRange,
    description:
      'The ETag of the file that the client has the other parts of. With any other, or a date, the answer is all of the file.',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    schema: idempotencyKey,
    description:
      "A key of the client's choice for this request. Sent again with it within 7 days, the same request has the " +
      'first answer and takes effect once.',
  },
  asynchronous: {
    name: 'x-service-asynchronous',
    schema: z.enum(['true', 'false']),
    description: 'Whether the request may be answered before it has taken effect. It need not be.',
  },
  contentEncoding: {
    name: 'Content-Encoding',
    schema: z.enum(['identity', 'gzip', 'br', 'zstd']),
    description:
      'How the body is compressed: `identity` is not at all. Its limit is that of the body as it was before.',
  },
} as const;

/** A response header. */
export interface DescribedHeader {
  /** Its name, if it differs from its key here. */
  readonly header?: string;
  readonly schema: z.ZodType;
  readonly required: boolean;
  readonly example: unknown;
  readonly description: string;
}

/** Response headers, except those that HTTP has anyway. */
export const responseHeaders = {
  'ETag': {
    schema: z.string().regex(/^"[0-9]+"$/),
    required: true,
    example: '"42"',
    description: 'The version of what is shown or was changed, for `If-Match` and `If-None-Match`.',
  },
  'Cache-Control': {
    schema: z.literal('private, no-cache'),
    required: true,
    example: 'private, no-cache',
    description: 'The answer may be kept, and is to be asked for again with `If-None-Match`.',
  },
  'Vary': {
    schema: z.string().regex(/^(Origin, )?(Accept, )?Accept-Encoding, Authorization$/),
    required: true,
    example: 'Accept-Encoding, Authorization',
    description: 'What the answer depends on.',
  },
  'Allow': {
    schema: z.string(),
    required: true,
    example: 'GET, POST',
    description: 'The methods that the path knows.',
  },
  'Retry-After': {
    schema: z.int().min(0),
    required: true,
    example: 1,
    description: 'After how many seconds to try again.',
  },
  'RateLimit-Policy': {
    schema: z.string().regex(/^"[a-z]+"(;[a-z]+=([0-9]+|"[a-z-]+"))+(, "[a-z]+"(;[a-z]+=([0-9]+|"[a-z-]+"))+)*$/),
    required: false,
    example: '"requests";q=100;w=60, "rows";q=50000;qu="rows";w=60',
    description:
      'The limits of the team, where the service has any: `q` requests, rows written, bytes of bodies, or imports of stashes, in a window of `w` seconds.',
  },
  'RateLimit': {
    schema: z.string().regex(/^"[a-z]+";r=[0-9]+;t=[0-9]+(, "[a-z]+";r=[0-9]+;t=[0-9]+)*$/),
    required: false,
    example: '"requests";r=50;t=30, "rows";r=50000;t=60',
    description:
      'What is left to the team of each limit: `r` requests, rows, bytes or imports, for the next `t` seconds.',
  },
  'Location': {
    schema: z.string(),
    required: true,
    example: '/jobs/AgEFAZnC9G0eejCMVR8K',
    description: 'Where to ask for the job.',
  },
  'Page-Location': {
    header: 'Location',
    schema: z.literal('docs'),
    required: true,
    example: 'docs',
    description: 'The page, relative to this address.',
  },
  'File-Location': {
    header: 'Location',
    schema: z.url(),
    required: true,
    example: 'https://files.example.org/files/9fJ0Zb2mQ3yTn1cXv7LkWg/photo.png',
    description: 'The URL of the file.',
  },
  'Job-ID': {
    schema: z.string(),
    required: false,
    example: 'djE6MDE5OWMyZjQtNmQxZS03YTMwLThjNTUtMWYwYTJiM2M0ZDVl',
    description: 'With `outcome_unknown`: the ID of the job that the request has become.',
  },
  'Tablog-Turned-Away': {
    schema: z.enum(['service_unavailable', 'limit_exceeded', 'payment_required']),
    required: false,
    example: 'payment_required',
    description:
      'With `outcome_unknown`, if this try was turned away and only an earlier one may take effect: the error that the request gets without an `Idempotency-Key`. After the first try the client knows that nothing was changed.',
  },
  'Request-ID': {
    schema: z.string(),
    required: false,
    example: '4bZ2vQkM-1f',
    description: 'The ID under which the log of the service has the request.',
  },
  'File-ETag': {
    header: 'ETag',
    schema: z.string().regex(/^"[\w-]{22}"$/),
    required: true,
    example: '"mV0aZ3lqT1uHq5o2bR8x6w"',
    description: 'What tells the file from others, for `If-None-Match` and `If-Range`.',
  },
  'File-Cache-Control': {
    header: 'Cache-Control',
    schema: z.string().regex(/^public, max-age=[0-9]+$/),
    required: true,
    example: 'public, max-age=3600',
    description: 'For how many seconds caches may keep the file before they ask again with `If-None-Match`.',
  },
  'Console-Cache-Control': {
    header: 'Cache-Control',
    schema: z.literal('public, max-age=31536000, immutable'),
    required: true,
    example: 'public, max-age=31536000, immutable',
    description: 'Caches may keep the file: it never changes.',
  },
  'Tablog-Count': {
    schema: z.int().min(0),
    required: false,
    example: 42,
    description: 'How many rows meet the filter, at the version in `ETag`.',
  },
  'Tablog-Rows': {
    schema: z.string().regex(/^added=[0-9]+, patched=[0-9]+, unchanged=[0-9]+, deleted=[0-9]+$/),
    required: true,
    example: 'added=3, patched=10, unchanged=2, deleted=1',
    description: 'How many operations added, patched or deleted a row, and how many changed nothing.',
  },
  'Tablog-Dropped-Cells': {
    schema: z.int().min(0),
    required: false,
    example: 3,
    description:
      'With `onSchemaError=dropColumns`: how many cells were dropped. Left out of the answer to an import if chunks of the stash came without `onSchemaError=dropColumns`.',
  },
  'Tablog-Cache': {
    schema: z.enum(['warm', 'cold']),
    required: false,
    example: 'warm',
    description: 'Whether the query engine had a copy of the table (`warm`), or made one first (`cold`).',
  },
  'Tablog-Continuation': {
    schema: z.string(),
    required: false,
    example: 'AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE',
    description: 'Of CSV: what to ask for the next page with. Not on the last page.',
  },
  'Link': {
    schema: z.string().regex(/^<[^<>]+>; rel="next"$/),
    required: false,
    example:
      '</tables/0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e/rows?limit=10000&continuation=AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE>; rel="next"',
    description: 'Of CSV: the next page. Not on the last page.',
  },
  'Tablog-Short-Lines': {
    schema: z.int().min(1),
    required: false,
    example: 2,
    description:
      'How many lines of CSV or TSV had fewer cells than the header. The columns of those that are missing are empty.',
  },
  'Tablog-Notes': {
    schema: z.string(),
    required: false,
    example: 'column_1: had no name; column_4: had no name and no values, and was left out',
    description:
      'What was made of CSV or TSV that is not by the book, and which columns came to be text because of some of their cells: at most ten notes, with `; ` between them.',
  },
  'Accept-Ranges': {
    schema: z.literal('bytes'),
    required: true,
    example: 'bytes',
    description: 'Parts of the file can be asked for.',
  },
  'Content-Range': {
    schema: z.string(),
    required: true,
    example: 'bytes 0-1023/146515',
    description: 'Which part of how many bytes it is.',
  },
  'Content-Disposition': {
    schema: z.string(),
    required: true,
    example: 'inline; filename="photo.png"',
    description: 'Whether it is shown or saved, and its name.',
  },
  'Content-Security-Policy': {
    schema: z.literal("default-src 'none'; sandbox"),
    required: true,
    example: "default-src 'none'; sandbox",
    description: 'Nothing in the file runs.',
  },
  'X-Content-Type-Options': {
    schema: z.literal('nosniff'),
    required: true,
    example: 'nosniff',
    description: 'The file is of the type that it says.',
  },
} as const satisfies Readonly<Record<string, DescribedHeader>>;

export type ResponseHeader = keyof typeof responseHeaders;
