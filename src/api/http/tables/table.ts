/**
 * A single table: reading it, renaming it and its columns, deleting it. These paths are ours, not the spec's
 * (docs/decisions/0009).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { deleteTable } from '../../../../commands/delete-table.ts';
import { patchTable } from '../../../../commands/patch-table.ts';
import type { TableDetails, TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { readMembers } from '../../../language/formats/read-members.ts';
import { isArrayType, itemKind, type ColumnType } from '../../../language/values/column-type.ts';
import { currentType } from '../../../language/values/table-schema.ts';
import type { App } from '../server/app-type.ts';
import { oneTableOperations } from './table-operations.ts';
import type { Shares } from '../limits/shares.ts';
import { readMediaType } from '../bodies/media-type.ts';
import { replyMissing } from '../answers/missing.ts';
import { collectInPlace } from '../bodies/body-place.ts';
import { identify, identifyWithBody } from '../submit/request-identity.ts';
import type { Submitter } from '../submit/submitter.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfMatch, readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';

const json = 'application/json; charset=utf-8';

export interface TableRouteDependencies {
  readonly submitter: Submitter;
  readonly tables: TableQueries;
  readonly shares: Pick<Shares, 'bodies'>;
  readonly bodyBytesMax: number;
}

export function addTableRoute(app: App, { submitter, tables, shares, bodyBytesMax }: TableRouteDependencies): void {
  const path = '/tables/:tableID';

  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const has = readIfNoneMatch(request);
    const tableId = tableIdOf(request);
    const table = await tables.table(request.principal.teamId, tableId);
    if (typeof table === 'string') return replyMissing(reply, table);
    if (has(table.version)) return replyNotModified(reply, table.version);
    setVersion(reply, table.version).type(json);
    return request.method === 'HEAD' ? reply.send() : reply.send(JSON.stringify({ data: present(tableId, table) }));
  };
  app.route({ method: ['GET', 'HEAD'], url: path, config: { operation: oneTableOperations.get }, handler: answer });

  app.patch(path, { config: { operation: oneTableOperations.patch } }, async (request, reply) => {
    const { teamId } = request.principal;
    readMediaType(request, ['application/json']);
    const identity = identify(request);
    const ifMatch = readIfMatch(request) ?? null;
    const bytes = await collectInPlace(shares.bodies, request, bodyBytesMax);
    identity.digest?.update(bytes);
    const event = patchTable({ teamId, tableId: tableIdOf(request), ifMatch, members: readMembers(bytes) });
    const { etag } = await submitter.submit(teamId, identity, event);
    return setVersion(reply, etag).type(json).send('{}');
  });

  // No ETag: nothing remains that could have a version.
  app.delete(path, { config: { operation: oneTableOperations.remove } }, async (request, reply) => {
    const { teamId } = request.principal;
    const ifMatch = readIfMatch(request) ?? null;
    const identity = await identifyWithBody(request, bodyBytesMax);
    await submitter.submit(teamId, identity, deleteTable({ teamId, tableId: tableIdOf(request), ifMatch }));
    return reply.type(json).send('{}');
  });
}

function present(id: string, { name, version, createdAt, rows, schema, appIds }: TableDetails): object {
  const columns = schema.columns.map((column) => {
    const { id: columnId, displayName } = column;
    return {
      id: columnId,
      ...(displayName === undefined ? {} : { displayName }),
      type: spellType(currentType(column)),
    };
  });
  return {
    id,
    name,
    version: version.toString(),
    created: new Date(createdAt).toISOString(),
    rows,
    schema: { columns },
    appIDs: appIds,
  };
}

/** A type in a spelling that requests accept too (spec section 2). */
function spellType(type: ColumnType): unknown {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}
