/** The process of the query engine. It ends with the service that started it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { models } from '../../../projections/models.ts';
import { openDatabase } from '../../../projections/engine/read-model.ts';
import { CopyQueries } from '../../../projections/tables/copies.queries.ts';
import { removeAbandonedFolders, touchedEveryMs, touchFolder } from '../abandoned-folders.ts';
import type { EngineReady, EngineSettings } from '../protocol.ts';
import { Answerer } from './answer-query.ts';
import { Columnar } from './columnar.ts';
import { Copies } from './copies.ts';
import { handle } from './handle.ts';

const [{ databaseUrl, schema, folder, memoryBytesMax, diskBytesMax, diskFreeMin, threads, timeoutMs, secret }] = await once(process, 'message') as [EngineSettings];
const logger = pino({ level: process.env['LOG_LEVEL'] ?? 'info' });

process.once('disconnect', () => process.exit());
// A signal to the whole group of processes is for the service, which lets queries end first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

setInterval(() => {
  void touchFolder(folder).then(() => removeAbandonedFolders(dirname(folder))).catch((error: unknown) => logger.warn({ err: error }, 'the folder of the query engine could not be looked after'));
}, touchedEveryMs).unref();

const database = await openDatabase(models, { url: databaseUrl, schema });
database.history.onChanged((reason) => {
  // The copies are of a history that is gone.
  logger.fatal(reason);
  process.exit(1);
});
const columnar = await Columnar.open({ folder, memoryBytesMax, diskBytesMax, threads });
const queries = new CopyQueries(database);
const copies = new Copies({ columnar, queries, folder, bytesMax: diskBytesMax, freeMin: diskFreeMin });
const answerer = new Answerer({ copies, columnar, timeoutMs });
const server = createServer((request, response) => void handle({ answerer, secret, logger }, request, response));
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port } satisfies EngineReady));
