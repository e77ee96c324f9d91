/** Sends a page of rows, in JSON or in CSV. */
import type { FastifyReply } from 'fastify';
import type { RowsFormat } from '../../../../projections/tables/pages.queries.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { setVersion } from '../requests/versions.ts';
import { isCsvAsked } from './answer-type.ts';

/** The media types of rows. */
export const mediaTypes = { json: 'application/json; charset=utf-8', csv: 'text/csv; charset=utf-8' } as const;

interface SentPage {
  readonly body: Buffer;
  readonly version: bigint;
  /** Null on the last page. In JSON it is in the body too. */
  readonly continuation: string | null;
}

/** The format in which the client wants a page. */
export function rowsFormatOf(reply: FastifyReply): RowsFormat {
  return isCsvAsked(reply) ? 'csv' : 'json';
}

/**
 * Sends a page. In CSV the continuation is in headers, because the body has no place for it. `limit`: of this page and
 * the next one.
 */
export function sendRowsPage(
  reply: FastifyReply,
  format: RowsFormat,
  limit: number,
  { body, version, continuation }: SentPage,
): FastifyReply {
  setVersion(reply, version).type(mediaTypes[format]);
  if (format === 'csv' && continuation !== null) {
    const next = `/tables/${tableIdOf(reply.request)}/rows?limit=${limit}&continuation=${continuation}`;
    reply.headers({ 'tablog-continuation': continuation, 'link': `<${next}>; rel="next"` });
  }
  return reply.send(body);
}
