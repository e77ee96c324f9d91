/** `GET /tables/{tableID}/export`: the rows of a table that meet a filter, as a file that is made while it is sent. */
import { pipeline, type Readable } from 'node:stream';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import { exportFormats, type ExportFormat } from '../../query/language/export-format.ts';
import { fileMemoryBytes } from '../../query/engine-file.ts';
import type { ExportedFile, QueryEngine } from '../../query/query-engine.ts';
import { checkQuery, engineProblem } from '../answers/answer-query.ts';
import { chooseEncoding, compressStream } from '../answers/compression.ts';
import { replyMissing } from '../answers/missing.ts';
import { varyBy } from '../answers/vary.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { Shares } from '../limits/shares.ts';
import { exportMediaTypes, exportOperations } from './exports-operations.ts';
import { csvFormOf, exportQuery, queryOf } from '../requests/rows-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';

export interface ExportsRouteDependencies {
  readonly engine: QueryEngine;
  readonly tables: TableQueries;
  readonly shares: Pick<Shares, 'exports' | 'queries' | 'outgoingBytes'>;
}

export function addExportRoutes(app: App, { engine, tables, shares }: ExportsRouteDependencies): void {
  app.get(
    '/tables/:tableID/export',
    { schema: { querystring: exportQuery }, config: { operation: exportOperations.exportTable } },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const has = readIfNoneMatch(request);
      const format =
        request.query.format ?? exportFormats.find((name) => exportMediaTypes[name] === request.answerType)!;
      const csv = csvFormOf(request.query, format);
      const tableId = tableIdOf(request);
      const query = queryOf(request.query);
      const table = await tables.table(teamId, tableId);
      if (typeof table === 'string') return replyMissing(reply, table);
      if (has(table.version)) {
        const version =
          query === null
            ? table.version
            : await checkQuery({ engine, shares }, reply, { tableId, query, prefix: 'query.' });
        if (has(version)) return replyNotModified(reply, version);
      }
      const gone = await takeShares(shares, reply);
      try {
        const exported = await engine.export(
          { teamId, appId, tableId, format, csv, query: query ?? {}, prefix: 'query.' },
          gone,
        );
        setVersion(varyBy(reply, 'Accept'), exported.version).headers({
          'content-type': exportMediaTypes[format] + (isPacked(format) ? '' : '; charset=utf-8'),
          'content-disposition': contentDisposition(`${table.name}.${format}`),
          'tablog-cache': exported.isCold ? 'cold' : 'warm',
        });
        return await reply.send(compressed(request, reply, format, exported));
      } catch (error) {
        throw gone.aborted ? new ClientGone('its export began') : engineProblem(error);
      }
    },
  );
}

/** Takes what an export needs, until its response is closed. Returns the signal that it was. */
async function takeShares(
  { exports, outgoingBytes }: Pick<Shares, 'exports' | 'outgoingBytes'>,
  reply: FastifyReply,
): Promise<AbortSignal> {
  const { teamId } = reply.request.principal;
  await takeOutgoing(outgoingBytes, teamId, fileMemoryBytes, reply);
  await takeOutgoing(exports, teamId, 1, reply);
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

/** Whether a file is compressed already, and no text. */
function isPacked(format: ExportFormat): boolean {
  return format === 'parquet' || format === 'xlsx';
}

/** The file, compressed if the client accepts it. */
function compressed(
  request: FastifyRequest,
  reply: FastifyReply,
  format: ExportFormat,
  { file }: ExportedFile,
): Readable {
  const encoding = isPacked(format) ? null : chooseEncoding(request.raw.headers['accept-encoding']);
  if (encoding === null) return file;
  void reply.header('content-encoding', encoding);
  // A failure of one ends the other, and with it the response.
  return pipeline(file, compressStream(encoding), () => undefined);
}
