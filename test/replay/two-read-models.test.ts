/**
 * Two read models of one log, as two versions of the service have them: the second is filled while clients write, and
 * both are what the log says.
 */
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readTablesSql } from '../../projections/models.ts';
import { createReadModel } from '../../src/log/read-model.ts';
import { Database } from '../../src/storage/database/database.ts';
import { readConfig } from '../../src/app/config.ts';
import { openLog, openRecordLog } from '../../src/app/open-log.ts';
import { noLogObserver } from '../../src/log/log-observer.ts';
import { partitionCount } from '../../src/log/partition.ts';
import { verify as verifyReadModel } from '../../src/operations/replay/verify.ts';
import { survive } from '../faults/survive.ts';
import { verify } from '../faults/verify.ts';
import { useOwnApi } from '../support/api.ts';
import { Client } from '../support/client.ts';
import { sleepUntil } from '../support/server.ts';
import { limitMs } from '../support/time-limits.ts';

const { api, client } = useOwnApi();

/** Clients that would fill any machine decide how long it takes until the second has caught up. */
const pauseMs = 100;

/** A client for each process that answers requests. */
function clientsOfEach(): Client[] {
  const urls = api().processes.flatMap(({ role, url }) => (role === 'projector' ? [] : [url]));
  return urls.map((url) => new Client(url, client().token));
}

test(
  'a version that has another read model fills it beside the one that serves, and both go on',
  async () => {
    const { databaseUrl: url, operatorEnvironment: environment } = api();
    // As the engine of another version would open it.
    const schema = 'tablog_other';
    const [config, logger, signal] = [readConfig(environment), pino({ level: 'silent' }), new AbortController().signal];
    const database = await Database.open({ url, schema });
    const log = await openRecordLog(config, url, logger);
    try {
      await survive(
        {
          clients: clientsOfEach(),
          name: 'later client',
          pauseMs,
          recoveryMs: 60_000,
          verify: () => verify(environment),
        },
        async (_random, acknowledged) => {
          await sleepUntil(() => acknowledged() > 100, 'clients write');
          await createReadModel(readTablesSql, database, partitionCount);
          const other = await openLog(config, database, { logger, projects: true, observer: noLogObserver, signal });
          try {
            await other.caughtUp();
            const reached = acknowledged();
            await sleepUntil(() => acknowledged() > reached + 100, 'writes are acknowledged while both are filled');
            const { differences, counts } = await verifyReadModel({
              url,
              schema,
              log,
              batchEvents: 500,
              onProgress: () => undefined,
              signal,
            });
            expect(differences).toEqual([]);
            expect(counts['rows']).toBeGreaterThan(100);
          } finally {
            await other.close();
          }
        },
      );
    } finally {
      await Promise.all([database.close(), log.close()]);
    }
  },
  limitMs(600_000),
);
