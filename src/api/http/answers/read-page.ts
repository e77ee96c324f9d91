/** Pages of rows and of tables, which may be large and slow. */
import type { FastifyReply } from 'fastify';
import type { Share } from '../limits/fair-shares.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { Shares } from '../limits/shares.ts';

/**
 * Reads a page within the shares of its team. `bytesAtMost`: bytes of its JSON, at most. `units`: how many connections
 * to Postgres it takes of the share of pages. The caller shrinks `outgoing` to the size of the answer; `outgoing` is
 * released when the client has read the answer. Rejects as `takeOutgoing` and `read` do.
 */
export async function readPage<Page>(
  { pages, outgoingBytes }: Pick<Shares, 'pages' | 'outgoingBytes'>,
  reply: FastifyReply,
  bytesAtMost: number,
  read: () => Promise<Page>,
  units = 1,
): Promise<{ readonly page: Page; readonly outgoing: Share }> {
  const { teamId } = reply.request.principal;
  const outgoing = await takeOutgoing(outgoingBytes, teamId, bytesAtMost, reply);
  return { page: await pages.run(teamId, read, units), outgoing };
}
