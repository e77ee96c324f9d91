/** `tablog types`. */
import { describeRowTypes } from '../../clients/typescript/src/index.ts';
import type { ClientFlags } from './client/client-settings.ts';
import { findTable } from './client/find-table.ts';
import { openClient } from './client/open-client.ts';
import { writeOut, writeWords } from './console.ts';
import { interruption } from './interruption.ts';
import { UserError } from './user-error.ts';

/** Writes TypeScript types for the rows of these tables; of all tables if the list is empty. Rejects with UserError. */
export async function runTypes(idsOrNames: readonly string[], flags: ClientFlags): Promise<void> {
  const client = await openClient(flags, interruption(), writeWords);
  const named = await Promise.all(
    idsOrNames.map(async (idOrName) => {
      const found = await findTable(client, idOrName);
      if (found === null) throw new UserError(`There is no table ${JSON.stringify(idOrName)}.`);
      return found;
    }),
  );
  const tables = named.length > 0 ? named : await client.tables().toArray();
  const described = [];
  for (const { id } of tables) described.push(await client.table(id).describe());
  writeOut(describeRowTypes(described).trimEnd());
}
