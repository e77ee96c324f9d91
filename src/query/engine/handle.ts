/** A request of the service to its engine. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Logger } from 'pino';
import { isDatabaseAway } from '../../database/database-away.ts';
import { QueryError } from '../language/query-error.ts';
import { answerHeaders, type EngineUse, type ExportRequest, type QueryRequest, type SqlRequest } from '../protocol.ts';
import type { Answerer } from './answer-query.ts';
import type { SqlAnswerer } from './answer-sql.ts';
import type { Copies } from './copies.ts';
import type { Exported, Exporter } from './export/exporter.ts';

interface Dependencies {
  readonly copies: Copies;
  readonly answerer: Answerer;
  readonly sqlAnswerer: SqlAnswerer;
  readonly exporter: Exporter;
  readonly secret: string;
  readonly logger: Logger;
}

export async function handle({ copies, answerer, sqlAnswerer, exporter, secret, logger }: Dependencies, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    if (!isEqual(request.headers.authorization ?? '', secret)) {
      response.writeHead(403).end();
      return;
    }
    if (request.url === '/use') {
      response.end(JSON.stringify({ ...copies.use, residentBytes: process.memoryUsage.rss() } satisfies EngineUse));
      return;
    }
    if (request.url === '/export') {
      await sendExport(await exporter.export(await json(request) as ExportRequest, gone.signal), response);
      return;
    }
    if (request.url === '/sql') {
      const { body, isCold } = await sqlAnswerer.answer(await json(request) as SqlRequest, gone.signal);
      response.writeHead(200, { 'content-length': body.length, [answerHeaders.cold]: String(isCold) }).end(body);
      return;
    }
    const answer = await answerer.answer(await json(request) as QueryRequest, gone.signal);
    response.writeHead(200, {
      'content-length': answer.body.length, [answerHeaders.version]: String(answer.version), [answerHeaders.cold]: String(answer.isCold),
      ...(answer.continuation !== null && { [answerHeaders.continuation]: answer.continuation }),
      ...(answer.count !== null && { [answerHeaders.count]: String(answer.count) }),
    });
    response.end(answer.body);
  } catch (error) {
    if (response.destroyed) return;
    if (response.headersSent) {
      // The rest of the file is missing, which the end of the connection tells.
      logger.warn({ err: error }, 'an export broke off');
      response.destroy();
      return;
    }
    const { type, message } = reportOf(error, logger);
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ type, message }));
  }
}

async function sendExport({ parts, version, isCold, release }: Exported, response: ServerResponse): Promise<void> {
  try {
    response.writeHead(200, { [answerHeaders.version]: String(version), [answerHeaders.cold]: String(isCold) });
    // One part is sent while the next one is made.
    let before = Promise.resolve();
    for await (const part of parts) {
      await before;
      before = sent(response, part);
      // Awaited with the next part, or here.
      before.catch(() => undefined);
    }
    await before;
    response.end();
  } finally {
    await release();
  }
}

/** Resolves when a part has been handed to the system, so that its bytes may change. */
function sent(response: ServerResponse, part: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    response.write(part, (error) => (error ? reject(error) : resolve()));
  });
}

/** The error that the client of the service gets. One that nobody expected is a bug, and logged. */
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
