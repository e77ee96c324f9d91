/** The headers of requests and answers, as the OpenAPI document describes them. */
import { z } from 'zod';
import { idempotencyKey } from '../submit/request-identity.ts';
import { ifMatchHeader, ifNoneMatchHeader, ifRange } from '../requests/versions.ts';

/** Request headers. They have no examples, because pages that try requests out would send them. */
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
      'The part of the file to send, like `bytes=0-1023`. A malformed range, or several ranges, are ignored: the answer is the whole file.',
  },
  ifRange: {
    name: 'If-Range',
    schema: ifRange,
    description:
      'The ETag of the file of which the client has other parts. With another ETag, or a date, the answer is the whole file.',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    schema: idempotencyKey,
    description:
      "A key of the client's choice for this request. If the client sends the same request with it again within 7 days, the request gets the " +
      'first answer, and takes effect only once.',
  },
  asynchronous: {
    name: 'x-service-asynchronous',
    schema: z.enum(['true', 'false']),
    description: 'Whether the service may answer with a job before the request has taken effect. It need not do so.',
  },
  contentEncoding: {
    name: 'Content-Encoding',
    schema: z.enum(['identity', 'gzip', 'br', 'zstd']),
    description:
      'How the body is compressed; `identity` means not at all. The size limit applies to the uncompressed body.',
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

/** Response headers, without those that every HTTP answer has. */
export const responseHeaders = {
  'ETag': {
    schema: z.string().regex(/^"[0-9]+"$/),
    required: true,
    example: '"42"',
    description: 'The version of the row or table that is shown or was changed, for `If-Match` and `If-None-Match`.',
  },
  'Cache-Control': {
    schema: z.literal('private, no-cache'),
    required: true,
    example: 'private, no-cache',
    description: 'The client may keep the answer, and must ask again with `If-None-Match` before it reuses it.',
  },
  'Vary': {
    schema: z.string().regex(/^(Origin, )?(Accept, )?Accept-Encoding, Authorization$/),
    required: true,
    example: 'Accept-Encoding, Authorization',
    description: 'The request headers that the answer depends on.',
  },
  'Allow': {
    schema: z.string(),
    required: true,
    example: 'GET, POST',
    description: 'The methods of the path.',
  },
  'Retry-After': {
    schema: z.int().min(0),
    required: true,
    example: 1,
    description: 'How many seconds to wait before the next try.',
  },
  'RateLimit-Policy': {
    schema: z.string().regex(/^"[a-z]+"(;[a-z]+=([0-9]+|"[a-z-]+"))+(, "[a-z]+"(;[a-z]+=([0-9]+|"[a-z-]+"))+)*$/),
    required: false,
    example: '"requests";q=100;w=60, "rows";q=50000;qu="rows";w=60',
    description:
      'The limits of the team, if the service has any: `q` requests, rows written, bytes of bodies, or imports of stashes, in a window of `w` seconds.',
  },
  'RateLimit': {
    schema: z.string().regex(/^"[a-z]+";r=[0-9]+;t=[0-9]+(, "[a-z]+";r=[0-9]+;t=[0-9]+)*$/),
    required: false,
    example: '"requests";r=50;t=30, "rows";r=50000;t=60',
    description:
      'How much the team has left of each limit: `r` requests, rows, bytes or imports, for the next `t` seconds.',
  },
  'Location': {
    schema: z.string(),
    required: true,
    example: '/jobs/AgEFAZnC9G0eejCMVR8K',
    description: 'The URL of the job.',
  },
  'Page-Location': {
    header: 'Location',
    schema: z.literal('docs'),
    required: true,
    example: 'docs',
    description: 'The URL of the page, relative to this one.',
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
    description: 'With `outcome_unknown`: the ID of the job as which the request continues.',
  },
  'Tablog-Turned-Away': {
    schema: z.enum(['service_unavailable', 'limit_exceeded', 'payment_required']),
    required: false,
    example: 'payment_required',
    description:
      'With `outcome_unknown`, if this try was turned away and only an earlier one may take effect: the error that the request would get without an `Idempotency-Key`. If the client has made no earlier try, it knows that nothing has changed.',
  },
  'Request-ID': {
    schema: z.string(),
    required: false,
    example: '4bZ2vQkM-1f',
    description: 'The ID of the request in the log of the service.',
  },
  'File-ETag': {
    header: 'ETag',
    schema: z.string().regex(/^"[\w-]{22}"$/),
    required: true,
    example: '"mV0aZ3lqT1uHq5o2bR8x6w"',
    description: 'Identifies the file, for `If-None-Match` and `If-Range`.',
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
      'With `onSchemaError=dropColumns`: how many cells were dropped. The answer to an import lacks it if chunks of the stash came without `onSchemaError=dropColumns`.',
  },
  'Tablog-Cache': {
    schema: z.enum(['warm', 'cold']),
    required: false,
    example: 'warm',
    description: 'Whether the query engine had a copy of the table (`warm`), or first had to make one (`cold`).',
  },
  'Tablog-Continuation': {
    schema: z.string(),
    required: false,
    example: 'AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE',
    description: 'With CSV: the `continuation` for the next page. The last page lacks it.',
  },
  'Link': {
    schema: z.string().regex(/^<[^<>]+>; rel="next"$/),
    required: false,
    example:
      '</tables/0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e/rows?limit=10000&continuation=AAAAAAAAAAEAAAAAAAAAAQAAAAAAAAABx2nWk0aE>; rel="next"',
    description: 'With CSV: the URL of the next page. The last page lacks it.',
  },
  'Tablog-Short-Lines': {
    schema: z.int().min(1),
    required: false,
    example: 2,
    description: 'How many lines of CSV or TSV had fewer cells than the header. The missing cells are empty.',
  },
  'Tablog-Notes': {
    schema: z.string(),
    required: false,
    example: 'column_1: had no name; column_4: had no name and no values, and was left out',
    description:
      'How the service read CSV or TSV that does not follow the standard, and which columns became text because of some cells. At most ten notes, separated by `; `.',
  },
  'Accept-Ranges': {
    schema: z.literal('bytes'),
    required: true,
    example: 'bytes',
    description: 'The client may ask for parts of the file.',
  },
  'Content-Range': {
    schema: z.string(),
    required: true,
    example: 'bytes 0-1023/146515',
    description: 'The part in this answer, and the size of the file in bytes.',
  },
  'Content-Disposition': {
    schema: z.string(),
    required: true,
    example: 'inline; filename="photo.png"',
    description: 'Whether a browser shows or saves the file, and the name of the file.',
  },
  'Content-Security-Policy': {
    schema: z.literal("default-src 'none'; sandbox"),
    required: true,
    example: "default-src 'none'; sandbox",
    description: 'Browsers run nothing in the file.',
  },
  'X-Content-Type-Options': {
    schema: z.literal('nosniff'),
    required: true,
    example: 'nosniff',
    description: 'Browsers take `Content-Type` as it is.',
  },
} as const satisfies Readonly<Record<string, DescribedHeader>>;

export type ResponseHeader = keyof typeof responseHeaders;
