/** The process of the query engine. It ends with the service that started it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { CopyQueries } from '../../../projections/tables/copies.queries.ts';
import { Database } from '../../database/database.ts';
import { removeAbandonedFolders, touchedEveryMs, touchFolder } from '../abandoned-folders.ts';
import type { EngineReady, EngineSettings, EngineStuck } from '../protocol.ts';
import { Answerer } from './answer-query.ts';
import { SqlAnswerer } from './answer-sql.ts';
import { Columnar } from './columnar.ts';
import { Copies } from './copies.ts';
import { Exporter } from './export/exporter.ts';
import { handle } from './handle.ts';
import { Room } from './room.ts';

const [{ id, host, port, databaseUrl, schema, folder, memoryBytesMax, diskBytesMax, diskFreeMin, threads, timeoutMs, secret }] = await once(process, 'message') as [EngineSettings];
const logger = pino({ level: process.env['LOG_LEVEL'] ?? 'info' });

process.once('disconnect', () => process.exit());
// A signal to the whole group of processes is for the service, which lets queries end first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

const database = await Database.open({ url: databaseUrl, schema });
database.history.onChanged((reason) => {
  // The copies are of a history that is gone.
  logger.fatal(reason);
  process.exit(1);
});
// The rest is for what queries spill.
const copiesBytesMax = Math.floor(diskBytesMax * 0.75);
const onEnd = (reason: string): void => {
  logger.fatal(`${reason}: the query engine ends itself`);
  // After the answer has left. Threads that are at work do not let it exit.
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 500);
};
const columnar = await Columnar.open({ folder, memoryBytesMax, diskBytesMax: diskBytesMax - copiesBytesMax, threads, onEnd });
const queries = new CopyQueries(database);
const room = new Room({ columnar, folder, bytesMax: copiesBytesMax, freeMin: diskFreeMin });
const copies = new Copies({ columnar, queries, room });
const answerer = new Answerer({ id, copies, columnar, timeoutMs });
const sqlAnswerer = new SqlAnswerer({ copies, columnar, queries, timeoutMs, onStuck: (teamId) => process.send!({ stuck: teamId } satisfies EngineStuck) });
const exporter = new Exporter({ copies, room, columnar, folder, timeoutMs });
const server = createServer((request, response) => void handle({ copies, answerer, sqlAnswerer, exporter, secret, logger }, request, response));
server.listen(port, host, () => {
  process.send!({ port: (server.address() as AddressInfo).port } satisfies EngineReady);
  // At its end it would be too late: the service ends this process by SIGKILL.
  flushCompileCache();
});

setInterval(() => {
  touchFolder(folder).then(() => Promise.all([removeAbandonedFolders(dirname(folder)), copies.dropDeleted()])).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      logger.fatal({ err: error }, 'the folder of the query engine is gone');
      process.exit(1);
    }
    logger.warn({ err: error }, 'the query engine could not look after its copies');
  });
}, touchedEveryMs).unref();
