/** Teams, their plans and suspensions, for operators. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { planChange, resumeTeam, setPlan, suspendTeam } from '../../../../commands/plans.ts';
import { name } from '../../../../commands/teams.ts';
import type { TeamSummary } from '../../../../projections/teams/teams.queries.ts';
import { changeTeam, newTeam, teamAsJson } from '../../../administration/teams.ts';
import { toIso } from '../../../administration/tokens.ts';
import type { AuditAction } from '../../../administration/audit/audit-log.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import { quotasOf, type QuotaSettings } from '../../usage/team-quotas.ts';
import type { EventData } from '../../../language/events/event.ts';
import { planQuotas, type PlanQuota } from '../../../language/events/quota.ts';
import { jsonContent, linksTo, type Link } from '../openapi/operation.ts';
import { examples } from '../openapi/schemas.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import {
  auditedRequest,
  teamOfPath,
  readBody,
  replyWith,
  replyWithPage,
  type OperatorsDependencies,
} from './common.ts';
import { answerWithData, count, moment, forOperators, answerWithPage, pathOfTeam, teamId } from './operations.ts';

const limit = count.nullable().meta({ description: 'Null: no limit.' });

const newTeamBody = z
  .strictObject({ name })
  .meta({ id: 'NewTeam', description: 'The name is a label, and need not be unique.' });

const planBody = planChange
  .refine((plan) => Object.keys(plan).length > 0, 'must name a limit')
  .meta({
    id: 'PlanChange',
    minProperties: 1,
    description:
      'Limits of a team. A limit that is left out stays as it is. Null: the plan sets no limit, and the setting of the service applies.',
  });

const team = z
  .strictObject({
    id: teamId,
    name: z.string(),
    suspended: z.boolean(),
    rows: count,
    rowsMax: limit,
    uploadBytes: count,
    uploadBytesMax: limit,
  })
  .meta({ id: 'TeamSummary' });

const quota = z.strictObject({
  used: count,
  max: limit,
  setBy: z.string().nullable().meta({ description: '`plan`, or the name of a setting; null if there is no limit.' }),
});

const shownDetails = team
  .extend({
    quarantinedSince: moment.meta({
      description: 'When the team was put into quarantine; null if it is not in quarantine.',
    }),
    quotas: z.strictObject(
      Object.fromEntries(planQuotas.map((name) => [name, quota])) as Record<PlanQuota, typeof quota>,
    ),
  })
  .meta({ id: 'Team' });

const teamLinks: readonly Link[] = linksTo(
  ['getTeam', 'setPlan', 'suspendTeam', 'resumeTeam', 'listTeamTokens', 'createTeamToken', 'releaseTeam'],
  { teamID: '$response.body#/data/id' },
);

const exampleTeam = {
  id: examples.tableId,
  name: 'acme',
  suspended: false,
  rows: 406,
  rowsMax: 5_000_000,
  uploadBytes: 0,
  uploadBytesMax: null,
};
const exampleQuotas = Object.fromEntries(planQuotas.map((name) => [name, { used: 0, max: null, setBy: null }]));
const exampleDetails = {
  ...exampleTeam,
  quarantinedSince: null,
  quotas: { ...exampleQuotas, rows: { used: 406, max: 5_000_000, setBy: 'plan' } },
};

const shownTeam = { 200: answerWithData('The team, as it is now.', shownDetails, exampleDetails) };

interface TeamsDependencies extends OperatorsDependencies {
  readonly logBytes: Pick<LogBytes, 'usedBy'>;
  readonly quotaSettings: QuotaSettings;
}

export function addOperatorTeamRoutes(
  app: App,
  { log, teams, audit, logBytes, quotaSettings }: TeamsDependencies,
): void {
  const show = async (reply: FastifyReply, team: TeamSummary): Promise<FastifyReply> =>
    replyWith(reply, {
      ...teamAsJson(team),
      quarantinedSince: toIso(log.quarantinedSince(team.id)),
      quotas: quotasOf(team, await logBytes.usedBy(team.id), quotaSettings),
    });

  /** Changes the team of the path, and answers with its new state. */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    action: AuditAction,
    eventFor: (teamId: string) => EventData & { readonly teamId: string },
    limits: object = {},
  ): Promise<FastifyReply> =>
    show(
      reply,
      await auditedRequest(audit, request, action, { ...limits }, async (details) => {
        const { id } = await teamOfPath(teams, request);
        details['teamId'] = id;
        return changeTeam({ log, teams }, eventFor(id));
      }),
    );

  app.get(
    '/admin/teams',
    {
      schema: { querystring: pageQuery('teams') },
      config: forOperators(
        'listTeams',
        'List teams',
        'All teams, in the order in which they were created, page by page.',
        { answers: { 200: answerWithPage('Teams, and the continuation.', team, exampleTeam) } },
      ),
    },
    (request, reply) =>
      replyWithPage(reply, 'teams', request.query, (after, limit) => teams.teams(after, limit), teamAsJson),
  );

  app.post(
    '/admin/teams',
    {
      config: forOperators('createTeam', 'Create a team', 'A team without tokens and tables.', {
        body: jsonContent(newTeamBody, { team: { name: 'acme' } }),
        answers: {
          201: { ...answerWithData('The team was created.', shownDetails, exampleDetails), links: teamLinks },
        },
        errors: ['outcome_unknown'],
      }),
    },
    async (request, reply) => {
      const { name } = await readBody(request, newTeamBody);
      const event = newTeam(name);
      const team = await auditedRequest(audit, request, 'team.create', { teamId: event.teamId, name }, () =>
        changeTeam({ log, teams }, event),
      );
      return show(reply.code(201), team);
    },
  );

  app.get(
    '/admin/teams/:teamID',
    {
      config: forOperators(
        'getTeam',
        'Get a team',
        'A team, and for each quota how much the team uses, how much it may use, and what sets the limit. Bytes of the log count for today (UTC).',
        { path: pathOfTeam, answers: shownTeam, errors: ['team_not_found'] },
      ),
    },
    async (request, reply) => show(reply, await teamOfPath(teams, request)),
  );

  app.patch(
    '/admin/teams/:teamID/plan',
    {
      config: forOperators(
        'setPlan',
        'Set the plan of a team',
        'Sets limits of the team. Limits that are left out stay as they are.',
        {
          path: pathOfTeam,
          body: jsonContent(planBody, {
            'limits': { rowsMax: 5_000_000, logBytesPerDayMax: 10_000_000_000 },
            'a limit removed': { rowsMax: null },
          }),
          answers: shownTeam,
          errors: ['team_not_found', 'outcome_unknown'],
        },
      ),
    },
    async (request, reply) => {
      const plan = await readBody(request, planBody);
      return change(request, reply, 'plan.set', (teamId) => setPlan(teamId, plan), plan);
    },
  );

  app.post(
    '/admin/teams/:teamID/suspend',
    {
      config: forOperators(
        'suspendTeam',
        'Suspend a team',
        'From then on the service answers 402 for its tables and the URLs of its files.',
        { path: pathOfTeam, answers: shownTeam, errors: ['team_not_found', 'outcome_unknown'] },
      ),
    },
    (request, reply) => change(request, reply, 'plan.suspend', suspendTeam),
  );

  app.post(
    '/admin/teams/:teamID/resume',
    {
      config: forOperators('resumeTeam', 'Resume a team', 'Ends its suspension.', {
        path: pathOfTeam,
        answers: shownTeam,
        errors: ['team_not_found', 'outcome_unknown'],
      }),
    },
    (request, reply) => change(request, reply, 'plan.resume', resumeTeam),
  );
}
