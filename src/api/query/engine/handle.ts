/** Handles requests of the service to a query process. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../../storage/database/database-away.ts';
import { parseExactly } from '../../../language/formats/exact-json.ts';
import { QueryError } from '../language/query-error.ts';
import {
  answerHeaders,
  type EngineUse,
  type ExportRequest,
  type ProcessKind,
  type QueryRequest,
  type SqlTurnRequest,
} from '../protocol.ts';
import type { Answerer } from './answer-query.ts';
import type { SqlAnswerer } from './answer-sql.ts';
import type { CancelledSql } from './cancelled-sql.ts';
import type { Columnar } from './columnar.ts';
import type { Copies } from './copies.ts';
import { isBroken, type Ending } from './ending.ts';
import type { Exported, Exporter } from './export/exporter.ts';

interface Dependencies {
  readonly kind: ProcessKind;
  readonly copies: Pick<Copies, 'use'>;
  readonly answerer: Pick<Answerer, 'answer'>;
  readonly sqlAnswerer: Pick<SqlAnswerer, 'answer'>;
  readonly exporter: Pick<Exporter, 'export'>;
  readonly columnar: Pick<Columnar, 'run'>;
  readonly secret: string;
  readonly logger: Logger;
  readonly ending: Ending;
  /** Called with the team whose SQL used up the memory of the process. */
  readonly onStuck: (teamId: string) => void;
  readonly cancelled: CancelledSql;
}

export async function handle(
  dependencies: Dependencies,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { secret, logger, ending } = dependencies;
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    if (!isEqual(request.headers.authorization ?? '', secret)) {
      response.writeHead(403).end();
      return;
    }
    await answer(dependencies, request, response, gone.signal);
  } catch (error) {
    if (isBroken(error)) {
      logger.error({ err: error }, 'DuckDB reported an internal error');
      ending.beginNow('DuckDB reported an internal error');
    }
    // Send no answer if this process is ending: when the connection ends, the service repeats the query in the next
    // process.
    if (response.destroyed || (ending.hasBegun && !isOwnMistake(error))) return;
    if (response.headersSent) {
      // Cut the connection, which tells the service that the file is incomplete.
      logger.warn({ err: error }, 'an export failed after its file had begun');
      response.destroy();
      return;
    }
    const { type, message } = reportOf(error, logger);
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ type, message }));
  }
}

/** Answers a request. Each process answers only its kind of queries. */
async function answer(
  dependencies: Dependencies,
  request: IncomingMessage,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const { kind, copies, answerer, exporter, columnar } = dependencies;
  if (request.url === '/use') {
    response.end(JSON.stringify({ ...copies.use, residentBytes: process.memoryUsage.rss() } satisfies EngineUse));
  } else if (request.url === '/probe') {
    await columnar.run('SELECT 1');
    response.end();
  } else if (kind === 'sql') {
    await answerSql(dependencies, parseExactly(await text(request)) as SqlTurnRequest, response, gone);
  } else if (request.url === '/export') {
    await sendExport(await exporter.export(parseExactly(await text(request)) as ExportRequest, gone), response);
  } else {
    const { body, version, isCold, continuation, count } = await answerer.answer(
      parseExactly(await text(request)) as QueryRequest,
      gone,
    );
    response.writeHead(200, {
      'content-length': body.length,
      [answerHeaders.version]: String(version),
      [answerHeaders.cold]: String(isCold),
      ...(continuation !== null && { [answerHeaders.continuation]: continuation }),
      ...(count !== null && { [answerHeaders.count]: String(count) }),
    });
    response.end(body);
  }
}

async function answerSql(
  { sqlAnswerer, ending, cancelled, onStuck }: Dependencies,
  { turn, ...asked }: SqlTurnRequest,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  await cancelled.during(turn, async (cancel) => {
    try {
      const { body, isCold } = await sqlAnswerer.answer(asked, AbortSignal.any([gone, cancel]));
      response.writeHead(200, { 'content-length': body.length, [answerHeaders.cold]: String(isCold) }).end(body);
    } catch (error) {
      // Only a query that ran alone gets `limit_exceeded` for memory. Then it is also the reason why the process has no
      // memory left.
      if (ending.hasBegun && error instanceof QueryError && error.type === 'limit_exceeded') onStuck(asked.teamId);
      throw cancel.aborted && !isBroken(error) && !(error instanceof QueryError)
        ? new QueryError(
            'service_unavailable',
            'The query was cancelled, because nobody waits for its answer any more.',
          )
        : error;
    }
  });
}

/** Whether the query itself is at fault, so that every process would answer the same. */
function isOwnMistake(error: unknown): boolean {
  return error instanceof QueryError && error.type !== 'service_unavailable';
}

async function sendExport({ parts, version, isCold, release }: Exported, response: ServerResponse): Promise<void> {
  try {
    response.writeHead(200, { [answerHeaders.version]: String(version), [answerHeaders.cold]: String(isCold) });
    // Send one part while the next one is being written.
    let before = Promise.resolve();
    for await (const part of parts) {
      await before;
      before = sent(response, part);
      // Awaited at the next part or after the loop; until then a failure must not count as unhandled.
      before.catch(() => undefined);
    }
    await before;
    response.end();
  } finally {
    await release();
  }
}

/** Writes a part. Resolves when the system has taken it, so that its bytes may be overwritten. */
function sent(response: ServerResponse, part: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(part, (error) => (error ? reject(error) : resolve()));
  });
}

/** The error for the client. An unexpected error is a bug and is logged. */
function reportOf(error: unknown, logger: Logger): { readonly type: string; readonly message: string } {
  if (error instanceof QueryError) return error;
  if (isDatabaseAway(error)) return { type: 'service_unavailable', message: 'Postgres cannot be reached.' };
  logger.error({ err: error }, 'a query failed');
  return { type: 'internal_error', message: 'The query failed.' };
}

function isEqual(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
