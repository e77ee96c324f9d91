import type { FastifyRequest } from 'fastify';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The ID of no table. */
export const noTable = '00000000-0000-0000-0000-000000000000';

/** The table ID in the path. A malformed ID becomes one that no table has. */
export function tableIdOf(request: FastifyRequest): string {
  const { tableID } = request.params as { readonly tableID: string };
  return uuid.test(tableID) ? tableID : noTable;
}
