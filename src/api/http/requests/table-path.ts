import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

/** The parameter of paths that begin with a table. */
export const tablePath = {
  tableID: z.string().meta({ description: 'The ID of a table.', examples: ['0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e'] }),
};

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The ID of no table. */
export const noTable = '00000000-0000-0000-0000-000000000000';

/** The table ID in the path. A malformed ID becomes one that no table has. */
export function tableIdOf(request: FastifyRequest): string {
  const { tableID } = request.params as { readonly tableID: string };
  return uuid.test(tableID) ? tableID : noTable;
}
