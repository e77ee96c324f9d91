/** The parameters of paths, and the headers of requests and answers, as the document has them. */
import { z } from 'zod';
import { stashId } from '../../../commands/inputs.ts';
import { idempotencyKey } from '../idempotency.ts';
import { ifMatch, ifNoneMatch } from '../versions.ts';

/** The parameters of the paths, by name. An ID that cannot be one is answered as one that is unknown. */
export const pathParameters: Readonly<Record<string, z.ZodType>> = {
  tableID: z.string().meta({ description: 'The ID of a table.', examples: ['0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e'] }),
  jobID: z.string().meta({ description: 'The ID of a job.' }),
  stashID: stashId.meta({ description: 'The name that the client gives the stash.', examples: ['import-7'] }),
  serial: stashId.meta({ description: 'The place of the chunk in the stash.', examples: ['12'] }),
  rowID: z.string().meta({ description: 'The ID of a row.', examples: ['AAAAAAAAAAEAAAAAAAAAAA'] }),
  file: z.string().meta({ description: 'The name of a file.', examples: ['swagger-ui.css'] }),
};

/** The headers of requests. They have no examples: pages that try requests out would send them. */
export const requestHeaders = {
  ifMatchRow: {
    name: 'If-Match',
    schema: ifMatch,
    description: 'A version, like `"42"`. The request takes effect only if the row has not changed since then.',
  },
  ifMatchTable: {
    name: 'If-Match',
    schema: ifMatch,
    description: 'A version, like `"42"`. The request takes effect only if the table has not changed since then.',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    schema: ifNoneMatch,
    description: 'Versions that the client has. If the current one is among them, the answer is 304 without a body.',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    schema: idempotencyKey,
    description: 'A key of the client\'s choice for this request. Sent again with it within 7 days, the same request has the '
      + 'first answer and takes effect once.',
  },
  asynchronous: {
    name: 'x-service-asynchronous',
    schema: z.enum(['true', 'false']),
    description: 'Whether the request may be answered before it has taken effect. It need not be.',
  },
  contentEncoding: {
    name: 'Content-Encoding',
    schema: z.enum(['gzip', 'br', 'zstd']),
    description: 'How the body is compressed.',
  },
} as const;

/** The headers of answers, beside those that HTTP has anyway. */
export const responseHeaders = {
  'ETag': {
    schema: z.string().regex(/^"[0-9]+"$/), required: true, example: '"42"',
    description: 'The version of what is shown or was changed, for `If-Match` and `If-None-Match`.',
  },
  'Cache-Control': {
    schema: z.literal('private, no-cache'), required: true, example: 'private, no-cache',
    description: 'The answer may be kept, and is to be asked for again with `If-None-Match`.',
  },
  'Vary': {
    schema: z.literal('Accept-Encoding, Authorization'), required: true, example: 'Accept-Encoding, Authorization',
    description: 'What the answer depends on.',
  },
  'Allow': {
    schema: z.string(), required: true, example: 'GET, POST',
    description: 'The methods that the path knows.',
  },
  'Retry-After': {
    schema: z.int().min(0), required: true, example: 1,
    description: 'After how many seconds to try again.',
  },
  'Location': {
    schema: z.string(), required: true, example: '/jobs/AgEFAZnC9G0eejCMVR8K',
    description: 'Where to ask for the job.',
  },
  'Job-ID': {
    schema: z.string(), required: false, example: 'djE6MDE5OWMyZjQtNmQxZS03YTMwLThjNTUtMWYwYTJiM2M0ZDVl',
    description: 'With `outcome_unknown`: the ID of the job that the request has become.',
  },
  'Request-ID': {
    schema: z.string(), required: false, example: '4bZ2vQkM-1f',
    description: 'The ID under which the log of the service has the request.',
  },
} as const;

export type ResponseHeader = keyof typeof responseHeaders;
