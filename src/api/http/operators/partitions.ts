/**
 * The partitions of the log, and teams in quarantine, for operators. Any process shows all of them: it reads Postgres
 * and the ends of the log.
 */
import { normalId } from '../../../administration/ids.ts';
import { partitionAsJson, readPartitionStates } from '../../../administration/partitions.ts';
import {
  quarantineAsJson,
  readShownQuarantines,
  ReleaseFailed,
  releaseQuarantine,
} from '../../../administration/quarantines.ts';
import { WrongLog } from '../../../log/identity.ts';
import { ClientGone } from '../bodies/request-body.ts';
import { operatorOperations } from './operators-operations.ts';
import type { App } from '../server/app-type.ts';
import { audited, findTeam, replyWith, type OperatorsDependencies } from './common.ts';

export function addPartitionRoutes(app: App, { log, teams, database, audit }: OperatorsDependencies): void {
  app.get(
    '/admin/partitions',
    { config: { operation: operatorOperations.listPartitions, forOperators: true } },
    async (_request, reply) => replyWith(reply, (await readPartitionStates(log, database)).map(partitionAsJson)),
  );

  app.get(
    '/admin/quarantine',
    { config: { operation: operatorOperations.listQuarantine, forOperators: true } },
    async (_request, reply) => replyWith(reply, (await readShownQuarantines(database, teams)).map(quarantineAsJson)),
  );

  app.post(
    '/admin/quarantine/:teamID/release',
    { config: { operation: operatorOperations.releaseTeam, forOperators: true } },
    async (request, reply) => {
      const gone = new AbortController();
      // It goes on with the next release where this one stops.
      reply.raw.once('close', () => gone.abort(new ClientGone('its team was released')));
      const teamID = normalId((request.params as { readonly teamID: string }).teamID);
      const quarantine = (await readShownQuarantines(database, teams)).find(({ teamId }) => teamId === teamID);
      if (quarantine === undefined)
        return replyWith(reply, { teamID: (await findTeam(teams, request)).id, released: true, error: null });
      try {
        await audited(audit, request, 'quarantine.release', { teamId: teamID }, () => {
          return releaseQuarantine(quarantine, log, database, { onProgress: () => undefined, signal: gone.signal });
        });
        return replyWith(reply, { teamID, released: true, error: null });
      } catch (error) {
        if (!(error instanceof ReleaseFailed || error instanceof WrongLog)) throw error;
        return replyWith(reply, { teamID, released: false, error: error.message });
      }
    },
  );
}
