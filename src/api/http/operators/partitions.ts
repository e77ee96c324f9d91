/**
 * The partitions of the log and the teams in quarantine, for operators. Any process shows all of them: it reads
 * Postgres and the ends of the log.
 */
import { z } from 'zod';
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
import { examples } from '../openapi/schemas.ts';
import type { App } from '../server/app-type.ts';
import { auditedRequest, teamOfPath, replyWith, type OperatorsDependencies } from './common.ts';
import { answerWithData, count, forOperators, pathOfTeam, teamId } from './operations.ts';

const partition = z
  .strictObject({
    partition: count,
    logEnd: z.string().meta({ description: 'The next offset of the log.' }),
    projected: z.string().meta({ description: 'The next offset to be projected.' }),
    behind: count.meta({ description: 'How many events are still to be projected.' }),
    version: z.string().meta({ description: 'The version of the next event to be projected.' }),
    epoch: z.string().meta({
      description: 'The fencing token of the process that projects the partition. It rises with each takeover.',
    }),
    halted: z.string().nullable().meta({ description: 'Why the partition has halted; null if it has not.' }),
    contradicted: z
      .boolean()
      .meta({ description: 'Whether it has halted because its log lacks events that were projected.' }),
    quarantined: z.array(teamId).meta({ description: 'The teams in quarantine.' }),
  })
  .meta({ id: 'Partition' });

const quarantine = z
  .strictObject({
    teamID: teamId,
    name: z.string().nullable().meta({ description: 'Null if the event that created the team is held.' }),
    partition: count,
    offset: z.string().meta({ description: 'The event that failed.' }),
    since: z.iso.datetime(),
    reason: z.string(),
    eventsSince: z.string().meta({
      description:
        'How many events of all teams the partition has got since then. At most so many of this team are held.',
    }),
  })
  .meta({ id: 'Quarantine' });

export function addPartitionRoutes(app: App, { log, teams, database, audit }: OperatorsDependencies): void {
  app.get(
    '/admin/partitions',
    {
      config: forOperators(
        'listPartitions',
        'List the partitions of the log',
        'All partitions, whichever process projects them: how far each is projected, and why it has halted.',
        {
          answers: {
            200: answerWithData('The partitions.', z.array(partition), [
              {
                partition: 0,
                logEnd: '1042',
                projected: '1040',
                behind: 2,
                version: '1041',
                epoch: '7',
                halted: null,
                contradicted: false,
                quarantined: [],
              },
            ]),
          },
        },
      ),
    },
    async (_request, reply) => replyWith(reply, (await readPartitionStates(log, database)).map(partitionAsJson)),
  );

  app.get(
    '/admin/quarantine',
    {
      config: forOperators(
        'listQuarantine',
        'List the teams in quarantine',
        'Each team with the event that failed and the reason, the oldest first.',
        {
          answers: {
            200: answerWithData('The teams in quarantine.', z.array(quarantine), [
              {
                teamID: examples.tableId,
                name: 'acme',
                partition: 3,
                offset: '40',
                since: '2026-11-22T09:14:00.000Z',
                reason: 'unexpected type',
                eventsSince: '12',
              },
            ]),
          },
        },
      ),
    },
    async (_request, reply) => replyWith(reply, (await readShownQuarantines(database, teams)).map(quarantineAsJson)),
  );

  app.post(
    '/admin/quarantine/:teamID/release',
    {
      config: forOperators(
        'releaseTeam',
        'Release a team from quarantine',
        'Projects the held events of the team, and ends its quarantine. Remove the cause first. A team that is not in quarantine stays as ' +
          'it is. If the connection breaks off, the next request continues from there.',
        {
          path: pathOfTeam,
          answers: {
            200: answerWithData(
              'Whether the team is released, or which event failed again.',
              z.strictObject({ teamID: teamId, released: z.boolean(), error: z.string().nullable() }),
              { teamID: examples.tableId, released: true, error: null },
            ),
          },
          errors: ['team_not_found'],
        },
      ),
    },
    async (request, reply) => {
      const gone = new AbortController();
      // If the client goes away, the next release continues where this one stops.
      reply.raw.once('close', () => gone.abort(new ClientGone('its team was released')));
      const teamID = normalId((request.params as { readonly teamID: string }).teamID);
      const quarantine = (await readShownQuarantines(database, teams)).find(({ teamId }) => teamId === teamID);
      if (quarantine === undefined)
        return replyWith(reply, { teamID: (await teamOfPath(teams, request)).id, released: true, error: null });
      try {
        await auditedRequest(audit, request, 'quarantine.release', { teamId: teamID }, () => {
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
