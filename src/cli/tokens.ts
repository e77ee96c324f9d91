/** `tablog tokens`: the access tokens of a team's clients. */
import { randomUUIDv7 } from 'node:crypto';
import type { Command } from 'commander';
import { createToken } from '../../commands/teams.ts';
import { hashToken, type TeamQueries, type TokenSummary } from '../../projections/teams/teams.queries.ts';
import { newAccessToken } from '../security/access-token.ts';
import { readConfig } from '../app/config.ts';
import { noteRevocation } from '../security/token-notes.ts';
import { recordFact } from '../log/record-fact.ts';
import { recordRevocation } from '../maintenance/tell-revocations.ts';
import { audited } from './audited.ts';
import { withRequiredOption, writeOut, writeTable, writeWords } from './console.ts';
import { parseExpiry, type Expiry } from './expiry.ts';
import { UserError } from './user-error.ts';
import { findTeam, normalId, withReadModel, withService } from './with-service.ts';

interface Flags {
  readonly team: string;
  readonly json?: boolean;
}

interface CreateFlags extends Flags {
  readonly name: string;
  readonly expires?: Expiry;
  readonly readOnly?: boolean;
  readonly app?: string;
}

export function addTokenCommands(program: Command): void {
  const tokens = program.command('tokens').description('make, list and revoke the access tokens of a team');
  const command = (name: string, description: string): Command => {
    return withRequiredOption(tokens.command(name).description(description), '--team <team>', 'the ID or name of the team')
      .option('--json', 'write the result as JSON');
  };
  command('create', 'make a token; writes it, this one time').option('--name <name>', 'what it is for', 'unnamed')
    .option('--expires <when>', 'a duration (90m, 12h, 30d), a date or a moment; without it never', parseExpiry)
    .option('--read-only', 'it may change nothing').option('--app <app>', 'it is for this app and its tables only').action(create);
  command('list', 'list the tokens of a team, which shows their IDs').action(list);
  command('revoke', 'end a token, for good').argument('<token-id>', 'the ID of the token').action(revoke);
}

async function create({ name, team: idOrName, expires, readOnly = false, app, json }: CreateFlags): Promise<void> {
  const appId = app ?? null;
  const token = newAccessToken();
  const id = randomUUIDv7();
  const details = { team: idOrName, tokenId: id, name, readOnly, appId };
  const expiresAt = await audited('token.create', details, (details) => withService(async ({ log, teams }) => {
    const team = await findTeam({ teams }, idOrName);
    details['teamId'] = team.id;
    const now = log.now();
    const expiresAt = expires?.(now) ?? null;
    if (expiresAt !== null && expiresAt <= now) throw new UserError('--expires: that time has passed already.');
    details['expiresAt'] = toIso(expiresAt);
    await recordFact(log, createToken(team.id, id, name, hashToken(token), { expiresAt, readOnly, appId }));
    return expiresAt;
  }));
  if (json) {
    writeOut(JSON.stringify({ id, name, token, expiresAt: toIso(expiresAt), readOnly, appID: appId }));
    return;
  }
  writeWords(`This is the only time that the token is shown. Its ID is ${id}.`);
  writeOut(token);
}

async function list({ team: idOrName, json }: Flags): Promise<void> {
  const { tokens, now } = await withService(async ({ log, teams }) => {
    const team = await findTeam({ teams }, idOrName);
    return { tokens: await teams.tokens(team.id), now: log.now() };
  });
  if (json) {
    writeOut(JSON.stringify(tokens.map(({ id, name, revoked, expiresAt, readOnly, appId, usedAt }) => {
      return { id, name, revoked, expiresAt: toIso(expiresAt), readOnly, appID: appId, lastUsedAt: toIso(minuteOf(usedAt)) };
    })));
    return;
  }
  writeTable(['ID', 'NAME', 'STATE', 'ACCESS', 'APP', 'EXPIRES', 'LAST USED'], tokens.map((token) => [
    token.id, token.name, stateOf(token, now), token.readOnly ? 'read' : 'read and write', token.appId ?? 'all',
    describeTime(token.expiresAt), describeTime(token.usedAt),
  ]));
}

/** Services refuse a token as soon as Postgres has the note, even while the log is unavailable; the log is told as soon as possible. */
async function revoke(text: string, flags: Flags): Promise<void> {
  // Not the text itself: somebody may name the token instead of its ID.
  const details = { team: flags.team, tokenId: normalId(text) };
  const { name, id, problem } = await audited('token.revoke', details, (details) => withReadModel(async ({ database, queries: { teams } }, withLog) => {
    const known = await findToken(teams, flags.team, text).catch((error: unknown) => {
      if (error instanceof UserError) return null;
      throw error;
    });
    // The latest events may not have been projected yet.
    const token = known ?? (await withLog(() => findToken(teams, flags.team, text)));
    Object.assign(details, { teamId: token.teamId, tokenId: token.id, name: token.name });
    await noteRevocation(database.pool, token.id);
    const told = withLog((log) => recordRevocation(log, token.teamId, token.id), readConfig().OUTCOME_WAIT_MS);
    return { ...token, problem: await told.then(() => null, (error: Error) => error.message) };
  }));
  if (flags.json) writeOut(JSON.stringify({ id, name, revoked: true, inLog: problem === null }));
  else if (problem === null) writeWords(`The token ${JSON.stringify(name)} is revoked. Running services refuse it within two seconds.`);
  else writeWords(`The token ${JSON.stringify(name)} is refused from now on: running services do so within two seconds.`);
  if (problem !== null) writeWords(`The log could not be told of it (${problem}). The service does that as soon as it can.`);
}

/** Throws UserError when the team has no such token. */
async function findToken(teams: TeamQueries, idOrName: string, text: string): Promise<TokenSummary & { readonly teamId: string }> {
  const team = await findTeam({ teams }, idOrName);
  const found = (await teams.tokens(team.id)).find(({ id }) => id === normalId(text));
  if (!found) throw new UserError(`The team ${JSON.stringify(team.name)} has no token of the ID ${JSON.stringify(text)}.`);
  return { ...found, teamId: team.id };
}

function stateOf({ revoked, expiresAt }: TokenSummary, now: number): string {
  if (revoked) return 'revoked';
  return expiresAt !== null && now >= expiresAt ? 'expired' : 'active';
}

/** The last use of a token is known to the minute. */
function minuteOf(time: number | null): number | null {
  return time === null ? null : time - (time % 60_000);
}

function toIso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** `2027-01-31 12:00Z` */
function describeTime(time: number | null): string {
  return toIso(time)?.replace('T', ' ').replace(/:[0-9.]+Z$/, 'Z') ?? 'never';
}
