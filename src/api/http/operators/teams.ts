/** Teams, their plans and suspensions, for operators. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { resumeTeam, setPlan, suspendTeam } from '../../../../commands/plans.ts';
import type { TeamSummary } from '../../../../projections/teams/teams.queries.ts';
import { changeTeam, newTeam, teamAsJson } from '../../../administration/teams.ts';
import { toIso } from '../../../administration/tokens.ts';
import type { AuditAction } from '../../../administration/audit/audit-log.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import { quotasOf, type QuotaSettings } from '../../usage/team-quotas.ts';
import type { EventData } from '../../../language/events/event.ts';
import { operatorOperations, newTeamBody, planBody } from './operators-operations.ts';
import { pageQuery } from '../requests/page-query.ts';
import type { App } from '../server/app-type.ts';
import { audited, findTeam, readBody, replyWith, replyWithPage, type OperatorsDependencies } from './common.ts';

export interface TeamsDependencies extends OperatorsDependencies {
  readonly logBytes: Pick<LogBytes, 'usedBy'>;
  readonly quotaSettings: QuotaSettings;
}

export function addTeamRoutes(app: App, { log, teams, audit, logBytes, quotaSettings }: TeamsDependencies): void {
  const show = async (reply: FastifyReply, team: TeamSummary): Promise<FastifyReply> =>
    replyWith(reply, {
      ...teamAsJson(team),
      quarantinedSince: toIso(log.quarantinedSince(team.id)),
      quotas: quotasOf(team, await logBytes.usedBy(team.id), quotaSettings),
    });

  /** Changes the team of the path, and shows it as it is then. */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    action: AuditAction,
    eventFor: (teamId: string) => EventData & { readonly teamId: string },
    limits: object = {},
  ): Promise<FastifyReply> =>
    show(
      reply,
      await audited(audit, request, action, { ...limits }, async (details) => {
        const { id } = await findTeam(teams, request);
        details['teamId'] = id;
        return changeTeam({ log, teams }, eventFor(id));
      }),
    );

  app.get(
    '/admin/teams',
    {
      schema: { querystring: pageQuery('teams') },
      config: { operation: operatorOperations.listTeams, forOperators: true },
    },
    (request, reply) =>
      replyWithPage(reply, 'teams', request.query, (after, limit) => teams.teams(after, limit), teamAsJson),
  );

  app.post(
    '/admin/teams',
    { config: { operation: operatorOperations.createTeam, forOperators: true } },
    async (request, reply) => {
      const { name } = await readBody(request, newTeamBody);
      const event = newTeam(name);
      const team = await audited(audit, request, 'team.create', { teamId: event.teamId, name }, () =>
        changeTeam({ log, teams }, event),
      );
      return show(reply.code(201), team);
    },
  );

  app.get(
    '/admin/teams/:teamID',
    { config: { operation: operatorOperations.getTeam, forOperators: true } },
    async (request, reply) => show(reply, await findTeam(teams, request)),
  );

  app.patch(
    '/admin/teams/:teamID/plan',
    { config: { operation: operatorOperations.setPlan, forOperators: true } },
    async (request, reply) => {
      const plan = await readBody(request, planBody);
      return change(request, reply, 'plan.set', (teamId) => setPlan(teamId, plan), plan);
    },
  );

  app.post(
    '/admin/teams/:teamID/suspend',
    { config: { operation: operatorOperations.suspendTeam, forOperators: true } },
    (request, reply) => change(request, reply, 'plan.suspend', suspendTeam),
  );

  app.post(
    '/admin/teams/:teamID/resume',
    { config: { operation: operatorOperations.resumeTeam, forOperators: true } },
    (request, reply) => change(request, reply, 'plan.resume', resumeTeam),
  );
}
