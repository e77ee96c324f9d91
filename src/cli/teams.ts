/** `tablog teams`: creates and lists teams. `tablog plans` sets their quotas. */
import type { Command } from 'commander';
import { newTeam, teamAsJson } from '../administration/teams.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { recordFact } from '../log/record-fact.ts';
import { auditedCommand } from './audited.ts';
import { writeOut, writeWords } from './console.ts';
import { writeTeams } from './show-teams.ts';
import { UserError } from './user-error.ts';
import { withService } from './with-service.ts';

interface Flags {
  readonly json?: boolean;
}

interface CreateFlags extends Flags {
  readonly another?: boolean;
}

export function addTeamCommands(program: Command): void {
  const teams = program.command('teams').description('create and list teams');
  const command = (name: string, description: string): Command => {
    return teams.command(name).description(description).option('--json', 'write the result as JSON');
  };
  command('create', 'create a team and write its ID')
    .argument('<name>')
    .option('--another', 'even if another team has this name')
    .action(create);
  command('list', 'list all teams, with their limits and usage').action(list);
}

async function create(name: string, flags: CreateFlags): Promise<void> {
  const event = newTeam(name);
  const namesakes = await auditedCommand('team.create', { teamId: event.teamId, name }, () =>
    withService(async (service) => {
      const found = (await service.teams.teams()).filter((team) => team.name === name);
      if (found.length > 0 && flags.another !== true) {
        throw new UserError(
          `There is a team ${JSON.stringify(name)} already (${idsOf(found)}). Add --another to create another team of that name.`,
        );
      }
      await recordFact(service.log, event);
      return found;
    }),
  );
  // Two processes may use the same name at the same time, so a name is only a label, and the ID identifies a team.
  if (namesakes.length > 0) {
    writeWords(
      `There is another team ${JSON.stringify(name)} already (${idsOf(namesakes)}): use the IDs of both from now on.`,
    );
  }
  if (flags.json) writeOut(JSON.stringify({ id: event.teamId, name }));
  else writeOut(event.teamId);
}

function idsOf(teams: readonly TeamSummary[]): string {
  return teams.map(({ id }) => id).join(', ');
}

async function list(flags: Flags): Promise<void> {
  const teams = await withService((service) => service.teams.teams());
  if (flags.json) writeOut(JSON.stringify(teams.map(teamAsJson)));
  else await writeTeams(teams);
}
