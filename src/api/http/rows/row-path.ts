/** The ID of a row: in paths, and from answers to paths. */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseRowId, type RowAddress } from '../../../language/events/row-id.ts';
import { linksTo, type Link } from '../openapi/operation.ts';

export const rowPath = {
  rowID: z.string().meta({ description: 'The ID of a row.', examples: ['AAAAAAAAAAEAAAAAAAAAAA'] }),
};

/** What stands in the path for `rowID`, which need not be an ID. */
export function rowIdOf(request: FastifyRequest): string {
  return (request.params as { readonly rowID: string }).rowID;
}

/** The row of the path. A malformed ID is answered like an unknown one: it becomes an address that no row has. */
export function rowOf(request: FastifyRequest): RowAddress {
  return parseRowId(rowIdOf(request)) ?? { version: 0n, ordinal: 0, index: 0 };
}

/** From the first of the rows that an answer names. `tableID`: where the ID of their table stands. */
export function rowLinks(tableID: '$response.body#/data/tableID' | '$request.path.tableID'): Link[] {
  return linksTo(['getRow', 'updateRow', 'deleteRow'], { tableID, rowID: '$response.body#/data/rowIDs/0' });
}
