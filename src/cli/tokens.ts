/** `tablog tokens`: what the clients of a team identify themselves with. */
import { randomUUIDv7 } from 'node:crypto';
import type { Command } from 'commander';
import { createToken, revokeToken } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../access-token.ts';
import { recordFact } from '../record-fact.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { UserError } from './run-to-end.ts';
import { findTeam, normalId, withService } from './with-service.ts';

interface Flags {
  readonly team: string;
  readonly json?: boolean;
}

export function addTokenCommands(program: Command): void {
  const tokens = program.command('tokens').description('make, list and revoke the access tokens of a team');
  const command = (name: string, description: string): Command => {
    return tokens.command(name).description(description)
      .requiredOption('--team <team>', 'the ID or name of the team').option('--json', 'write the result as JSON');
  };
  command('create', 'make a token; writes it, this one time').option('--name <name>', 'what it is for', 'unnamed').action(create);
  command('list', 'list the tokens of a team, which shows their IDs').action(list);
  command('revoke', 'end a token, for good').argument('<token-id>', 'the ID of the token').action(revoke);
}

async function create(flags: Flags & { readonly name: string }): Promise<void> {
  const token = newAccessToken();
  const id = randomUUIDv7();
  await withService(async (service) => {
    const team = await findTeam(service, flags.team);
    await recordFact(service.log, createToken(team.id, id, flags.name, hashToken(token)));
  });
  if (flags.json) {
    writeOut(JSON.stringify({ id, name: flags.name, token }));
    return;
  }
  writeWords(`This is the only time that the token is shown. Its ID is ${id}.`);
  writeOut(token);
}

async function list(flags: Flags): Promise<void> {
  const tokens = await withService(async (service) => service.teams.tokens((await findTeam(service, flags.team)).id));
  if (flags.json) {
    writeOut(JSON.stringify(tokens.map(({ id, name, revoked }) => ({ id, name, revoked }))));
    return;
  }
  writeTable(['ID', 'NAME', 'STATE'], tokens.map(({ id, name, revoked }) => [id, name, revoked ? 'revoked' : 'active']));
}

async function revoke(text: string, flags: Flags): Promise<void> {
  const token = await withService(async (service) => {
    const team = await findTeam(service, flags.team);
    const found = (await service.teams.tokens(team.id)).find(({ id }) => id === normalId(text));
    if (!found) throw new UserError(`The team ${JSON.stringify(team.name)} has no token of the ID ${JSON.stringify(text)}.`);
    await recordFact(service.log, revokeToken(team.id, found.id));
    return found;
  });
  if (flags.json) writeOut(JSON.stringify({ id: token.id, name: token.name, revoked: true }));
  else writeWords(`The token ${JSON.stringify(token.name)} is revoked. Running services refuse it within two seconds.`);
}
