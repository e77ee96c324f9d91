/** A query process. It ends with the service that started it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import { Database } from '../../../storage/database/database.ts';
import { removeAbandonedFolders, touchedEveryMs, touchFolder } from '../abandoned-folders.ts';
import {
  exitCodeOfChange,
  type CancelSql,
  type EngineReady,
  type EngineSettings,
  type EngineStuck,
} from '../protocol.ts';
import { Answerer } from './answer-query.ts';
import { SqlAnswerer } from './answer-sql.ts';
import { CancelledSql } from './cancelled-sql.ts';
import { Columnar } from './columnar.ts';
import { Copies } from './copies.ts';
import { Ending } from './ending.ts';
import { Exporter } from './export/exporter.ts';
import { giveWay } from './give-way.ts';
import { handle } from './handle.ts';
import { Room } from './room.ts';
import { keptRoom, memoryOfProcess, SqlMemory, sqlMemoryMargins } from './sql-memory.ts';

const [
  {
    id,
    kind,
    logLevel,
    host,
    port,
    databaseUrl,
    schema,
    folder,
    memoryBytesMax,
    residentBytesMax,
    mappedBytesMax,
    diskBytesMax,
    diskFreeMin,
    threads,
    niceness,
    timeoutMs,
    secret,
  },
] = (await once(process, 'message')) as [EngineSettings];
const logger = pino({ level: logLevel }).child({ engine: kind });

// SIGKILL, because running threads would keep the process from exiting.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Ignore signals to the process group: the service handles them, and lets queries finish first.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

const database = await Database.open({ url: databaseUrl, schema, readOnly: true });
database.history.onChanged((reason) => {
  // The copies belong to a history that Postgres has left.
  logger.fatal(reason);
  process.exit(exitCodeOfChange);
});
// The rest is for data that queries spill.
const copiesBytesMax = Math.floor(diskBytesMax * 0.75);
const ending = new Ending(logger);
const columnar = await Columnar.open({
  folder,
  memoryBytesMax,
  diskBytesMax: diskBytesMax - copiesBytesMax,
  threads,
  onEnd: (reason) => ending.begin(reason),
});
const queries = new CopyQueries(database);
const room = new Room({ columnar, folder, bytesMax: copiesBytesMax, diskBytesMax, freeMin: diskFreeMin });
const copies = new Copies({ columnar, queries, room });
const answerer = new Answerer({ id, copies, columnar, timeoutMs });
const onStuck = (teamId: string): void => {
  process.send!({ stuck: teamId } satisfies EngineStuck);
};
const memory = new SqlMemory({
  residentBytesMax: residentBytesMax - sqlMemoryMargins.resident,
  keptBytesMax: residentBytesMax - sqlMemoryMargins.resident - keptRoom,
  mappedBytesMax: mappedBytesMax - sqlMemoryMargins.mapped,
  everyMs: 25,
  read: memoryOfProcess,
  onInterrupt: (taken, atWork) =>
    logger.warn({ taken, atWork }, 'interrupts SQL because its process uses too much memory'),
  onKept: (taken) => {
    logger.warn({ taken }, 'the process for SQL ends because earlier SQL left too much memory in use');
    process.exit(exitCodeOfChange);
  },
});
const sqlAnswerer = new SqlAnswerer({ copies, columnar, queries, timeoutMs, onStuck, memory });
const exporter = new Exporter({ copies, room, columnar, folder, timeoutMs });
const cancelled = new CancelledSql();
process.on('message', ({ cancel }: CancelSql) => cancelled.add(cancel));
// Lower the priority only now: queries wait for the start, and on a busy machine a process of low priority would not
// start in time.
giveWay(niceness, kind === 'sql', logger);
const server = createServer((request, response) => {
  void handle(
    { kind, copies, answerer, sqlAnswerer, exporter, columnar, secret, logger, ending, onStuck, cancelled },
    request,
    response,
  );
});
server.listen(port, host, () => {
  process.send!({ port: (server.address() as AddressInfo).port } satisfies EngineReady);
  // Flush now, because the service ends this process with SIGKILL.
  flushCompileCache();
});

setInterval(() => {
  touchFolder(folder)
    .then(() => Promise.all([removeAbandonedFolders(dirname(folder)), copies.dropDeleted()]))
    .catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        logger.fatal({ err: error }, 'the folder of the query process is gone');
        process.exit(exitCodeOfChange);
      }
      logger.warn(
        { err: error },
        'the query process could not clean up folders and copies; it tries again in a minute',
      );
    });
}, touchedEveryMs).unref();
