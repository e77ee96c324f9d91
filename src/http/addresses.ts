/** Which table and which row a path names, and the answer where there is none. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RowAddress } from '../events/event.ts';
import { parseRowId } from '../events/row-id.ts';
import { replyWithError } from './error-reply.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nil = '00000000-0000-0000-0000-000000000000';

/** An address that no row has: an ID that cannot be one is answered as an unknown one. */
const neverARow: RowAddress = { version: 0n, ordinal: 0, index: 0 };

const messages = {
  table_not_found: 'There is no such table.',
  row_not_found: 'There is no such row.',
  payment_required: 'The team is suspended.',
} as const;

/** The ID in the path; one that cannot be a table's becomes one that no table has. */
export function tableIdOf(request: FastifyRequest): string {
  const { tableID } = request.params as { readonly tableID: string };
  return uuid.test(tableID) ? tableID : nil;
}

/** The row in the path. */
export function rowOf(request: FastifyRequest): RowAddress {
  return parseRowId((request.params as { readonly rowID: string }).rowID) ?? neverARow;
}

/** Answers that what the path names is not there, or not to be used. */
export function replyMissing(reply: FastifyReply, type: keyof typeof messages): FastifyReply {
  return replyWithError(reply, type, messages[type]);
}
