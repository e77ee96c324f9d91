/**
 * `GET /tables/{tableID}/export`: the rows of a table that meet a filter, as a file. The file is written while it is
 * sent.
 */
import { pipeline, type Readable } from 'node:stream';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { TableQueries } from '../../../../projections/tables/tables.queries.ts';
import {
  csvDelimiters,
  exportFormats,
  plainCsv,
  type CsvForm,
  type ExportFormat,
} from '../../query/language/export-format.ts';
import { fileMemoryBytes } from '../../query/engine-file.ts';
import type { ExportedFile, QueryEngine } from '../../query/query-engine.ts';
import { checkQuery, engineProblem, queryErrors } from '../answers/answer-query.ts';
import { chooseEncoding, compressStream } from '../answers/compression.ts';
import { replyMissing } from '../answers/missing.ts';
import { HttpError } from '../answers/http-error.ts';
import { varyBy } from '../answers/vary.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { takeOutgoing } from '../limits/outgoing.ts';
import type { Shares } from '../limits/shares.ts';
import type { Operation } from '../openapi/operation.ts';
import { queryOf, whichRows } from '../requests/rows-query.ts';
import { tableIdOf } from '../requests/table-path.ts';
import { readIfNoneMatch, replyNotModified, setVersion } from '../requests/versions.ts';
import type { App } from '../server/app-type.ts';

const exportQuery = z.strictObject({
  format: z
    .enum(exportFormats, `must be one of ${exportFormats.join(', ')}`)
    .optional()
    .meta({ description: 'The format of the file. Without it, `Accept` decides.' }),
  delimiter: z
    .enum([...csvDelimiters, 'tab'], 'must be one of , ; | or tab')
    .optional()
    .meta({ description: 'The separator of CSV cells; by default a comma.' }),
  excel: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description:
      'Whether CSV is for Excel. If so, it begins with a byte order mark, and each text that Excel would run as a formula begins with an apostrophe.',
  }),
  ...whichRows,
});

const mediaTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

const text = z.string();

const operation: Operation = {
  operationId: 'exportTable',
  tag: 'Rows',
  summary: 'Export rows',
  description:
    'All rows of the table as a file, or those that meet a filter. The file shows one version of the table, which `ETag` names. `$rowID` is the first column. JSON is a bare array, without `data`. ' +
    'The service writes the file while it sends it: if the connection breaks off, the file is incomplete.',
  formatParameter: 'format',
  answers: {
    200: {
      description: 'The file.',
      versioned: true,
      headers: ['Content-Disposition', 'Tablog-Cache'],
      body: {
        [mediaTypes.csv]: {
          schema: text,
          examples: { csv: '$rowID,name,born\nAAAAAAAAAAEAAAAAAAAAAA,Ada,1815-12-10\n' },
        },
        [mediaTypes.tsv]: {
          schema: text,
          examples: { tsv: '$rowID\tname\tborn\nAAAAAAAAAAEAAAAAAAAAAA\tAda\t1815-12-10\n' },
        },
        [mediaTypes.ndjson]: {
          schema: text,
          examples: { ndjson: '{"$rowID":"AAAAAAAAAAEAAAAAAAAAAA","name":"Ada","born":"1815-12-10"}\n' },
        },
        [mediaTypes.json]: {
          schema: z.array(z.looseObject({ $rowID: z.string() })),
          examples: { json: [{ $rowID: 'AAAAAAAAAAEAAAAAAAAAAA', name: 'Ada', born: '1815-12-10' }] },
        },
        [mediaTypes.parquet]: { schema: z.string().meta({ format: 'binary' }), examples: { parquet: 'PAR1...' } },
        [mediaTypes.xlsx]: { schema: z.string().meta({ format: 'binary' }), examples: { xlsx: 'PK...' } },
      },
    },
  },
  errors: queryErrors,
};

interface ExportsRouteDependencies {
  readonly engine: QueryEngine;
  readonly tables: TableQueries;
  readonly shares: Pick<Shares, 'exports' | 'queries' | 'outgoingBytes'>;
}

export function addExportRoutes(app: App, { engine, tables, shares }: ExportsRouteDependencies): void {
  app.get(
    '/tables/:tableID/export',
    { schema: { querystring: exportQuery }, config: { operation } },
    async (request, reply) => {
      const { teamId, appId } = request.principal;
      const has = readIfNoneMatch(request);
      const format = request.query.format ?? exportFormats.find((name) => mediaTypes[name] === request.answerType)!;
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
          'content-type': mediaTypes[format] + (isPacked(format) ? '' : '; charset=utf-8'),
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

/** The form of the CSV. Throws HttpError if a parameter of CSV comes with another format. */
function csvFormOf({ delimiter, excel }: z.infer<typeof exportQuery>, format: ExportFormat): CsvForm {
  for (const [name, value] of Object.entries({ delimiter, excel })) {
    if (value !== undefined && format !== 'csv')
      throw new HttpError('request_validation_error', `query.${name}: applies to CSV only.`);
  }
  return { delimiter: delimiter === 'tab' ? '\t' : (delimiter ?? plainCsv.delimiter), excel: excel === 'true' };
}

/** Takes shares for an export until its response is closed. Returns a signal that aborts when it is closed. */
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

/** Whether the format is binary and compressed already. */
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
  // If one stream fails, `pipeline` ends the other one, and with it the response.
  return pipeline(file, compressStream(encoding), () => undefined);
}
