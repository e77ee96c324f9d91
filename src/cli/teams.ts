/** `tablog teams`: who may use the service, and how much of it. */
import { randomUUIDv7 } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import { createTeam, resumeTeam, setPlan, suspendTeam } from '../../commands/teams.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import type { EventData } from '../events/event.ts';
import { recordFact } from '../record-fact.ts';
import { wholeNumber, writeOut, writeTable, writeWords } from './console.ts';
import { findTeam, withService } from './with-service.ts';

interface Flags {
  readonly json?: boolean;
}

export function addTeamCommands(program: Command): void {
  const teams = program.command('teams').description('make, list, suspend and resume teams, and set their plans');
  const command = (name: string, description: string): Command => {
    return teams.command(name).description(description).option('--json', 'write the result as JSON');
  };
  command('create', 'make a team; writes its ID').argument('<name>').action(create);
  command('list', 'list all teams').action(list);
  command('suspend', 'answer 402 to all that a team asks').argument('<team>', 'its ID or name')
    .action((team: string, flags: Flags) => change(team, flags, suspendTeam, 'is suspended'));
  command('resume', 'end the suspension of a team').argument('<team>', 'its ID or name')
    .action((team: string, flags: Flags) => change(team, flags, resumeTeam, 'is not suspended'));
  command('plan', 'limit how many rows the tables of a team may hold').argument('<team>', 'its ID or name')
    .requiredOption('--rows <n>', 'the most rows, or "unlimited"', rowsOf)
    .action((team: string, flags: Flags & { readonly rows: number | 'unlimited' }) => {
      const rowsMax = flags.rows === 'unlimited' ? null : flags.rows;
      return change(team, flags, (teamId) => setPlan(teamId, rowsMax), `may have ${describeRows(rowsMax)} rows`);
    });
}

async function create(name: string, flags: Flags): Promise<void> {
  const event = createTeam(randomUUIDv7(), name);
  const namesakes = await withService(async (service) => {
    const teams = await service.teams.teams();
    await recordFact(service.log, event);
    return teams.filter((team) => team.name === name);
  });
  // Two processes could take a name at the same time, so names are labels, and only IDs tell teams apart.
  if (namesakes.length > 0) {
    const ids = namesakes.map(({ id }) => id).join(', ');
    writeWords(`There is another team ${JSON.stringify(name)} already (${ids}): name them by their IDs from now on.`);
  }
  if (flags.json) writeOut(JSON.stringify({ id: event.teamId, name }));
  else writeOut(event.teamId);
}

async function list(flags: Flags): Promise<void> {
  const teams = await withService((service) => service.teams.teams());
  if (flags.json) {
    writeOut(JSON.stringify(teams.map(toJson)));
    return;
  }
  writeTable(
    ['ID', 'NAME', 'STATE', 'ROWS', 'ROWS AT MOST'],
    teams.map(({ id, name, suspended, rows, rowsMax }) => {
      return [id, name, suspended ? 'suspended' : 'active', String(rows), describeRows(rowsMax)];
    }),
  );
}

async function change(
  idOrName: string,
  flags: Flags,
  eventFor: (teamId: string) => EventData & { readonly teamId: string },
  description: string,
): Promise<void> {
  const team = await withService(async (service) => {
    const { id } = await findTeam(service, idOrName);
    await recordFact(service.log, eventFor(id));
    return findTeam(service, id);
  });
  if (flags.json) writeOut(JSON.stringify(toJson(team)));
  else writeWords(`The team ${JSON.stringify(team.name)} ${description}.`);
}

function toJson({ id, name, suspended, rows, rowsMax }: TeamSummary): object {
  return { id, name, suspended, rows: Number(rows), rowsMax: rowsMax === null || rowsMax === undefined ? null : Number(rowsMax) };
}

function describeRows(rowsMax: bigint | number | null | undefined): string {
  return rowsMax === null || rowsMax === undefined ? 'unlimited' : String(rowsMax);
}

function rowsOf(text: string): number | 'unlimited' {
  if (text === 'unlimited') return text;
  try {
    return wholeNumber(0)(text);
  } catch {
    throw new InvalidArgumentError('It must be a whole number, or "unlimited".');
  }
}
