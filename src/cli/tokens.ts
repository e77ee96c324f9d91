/** `tablog tokens`: access tokens of teams and of operators. */
import { Option, type Command } from 'commander';
import { normalId } from '../administration/ids.ts';
import {
  nameOfUnnamed,
  newToken,
  operatorTokenAsJson,
  recordToken,
  revokeTeamToken,
  storeOperatorToken,
  toIso,
  tokenAsJson,
  type NewToken,
} from '../administration/tokens.ts';
import type { TeamQueries, TokenSummary } from '../../projections/teams/teams.queries.ts';
import { readConfig } from '../app/config.ts';
import { listOperatorTokens, revokeOperatorToken, type OperatorToken } from '../storage/security/operator-tokens.ts';
import type { AuditDetails } from '../administration/audit/audit-log.ts';
import { auditedCommand } from './audited.ts';
import { writeOut, writeTable, writeWords } from './console.ts';
import { parseExpiry, type Expiry } from './expiry.ts';
import { UserError } from './user-error.ts';
import { findTeamByIdOrName, withReadModel, withService } from './with-service.ts';

/** Either `team` or `operator` is given. */
interface Flags {
  readonly team?: string;
  readonly operator?: true;
  readonly json?: boolean;
}

interface CreateFlags extends Flags {
  readonly name?: string;
  readonly expires?: Expiry;
  readonly readOnly?: boolean;
  readonly app?: string;
}

export function addTokenCommands(program: Command): void {
  const tokens = program
    .command('tokens')
    .description('create, list and revoke access tokens of a team or of operators');
  const command = (name: string, description: string): Command => {
    return tokens
      .command(name)
      .description(description)
      .option('--team <team>', 'the ID or name of the team')
      .addOption(
        new Option(
          '--operator',
          'tokens of operators, which belong to no team and are valid only for /admin',
        ).conflicts('team'),
      )
      .option('--json', 'write the result as JSON')
      .hook('preAction', (_program, command) => {
        const { team, operator } = command.opts<Flags>();
        if (team === undefined && operator === undefined)
          command.error("error: give either '--team <team>' or '--operator'");
      });
  };
  command('create', 'create a token and show it, this one time only')
    .option('--name <name>', 'a name for the token; default: its creation time and last characters')
    .option('--expires <when>', 'a duration (90m, 12h, 30d), a date or a time; default: never', parseExpiry)
    .addOption(new Option('--read-only', 'allow reading only').conflicts('operator'))
    .addOption(new Option('--app <app>', 'allow only this app and its tables').conflicts('operator'))
    .action(create);
  command('list', 'list tokens with their IDs').action(list);
  command('revoke', 'revoke a token permanently').argument('<token-id>', 'the ID of the token').action(revoke);
}

async function create(flags: CreateFlags): Promise<void> {
  const made = newToken();
  const { name = nameOfUnnamed(made, Date.now()) } = flags;
  const shown =
    flags.team === undefined
      ? await createForOperator(made, name, flags)
      : await createForTeam(made, name, flags.team, flags);
  if (flags.json) {
    writeOut(JSON.stringify({ id: made.id, name, token: made.token, ...shown }));
    return;
  }
  writeWords(`This is the only time that the token is shown. Its ID is ${made.id}.`);
  writeOut(made.token);
}

async function createForTeam(
  made: NewToken,
  name: string,
  idOrName: string,
  { expires, readOnly = false, app }: CreateFlags,
): Promise<object> {
  const appId = app ?? null;
  const details = { team: idOrName, tokenId: made.id, name, readOnly, appId };
  return auditedCommand('token.create', details, (details) =>
    withService(async ({ log, teams }) => {
      const team = await findTeamByIdOrName({ teams }, idOrName);
      details['teamId'] = team.id;
      const expiresAt = expires?.(log.now()) ?? null;
      details['expiresAt'] = toIso(expiresAt);
      await recordToken(log, team.id, made, name, { expiresAt, readOnly, appId });
      return { expiresAt: toIso(expiresAt), readOnly, appID: appId };
    }),
  );
}

async function createForOperator(made: NewToken, name: string, { expires }: CreateFlags): Promise<object> {
  const expiresAt = expires?.(Date.now()) ?? null;
  const details = { tokenId: made.id, operator: true, name, expiresAt: toIso(expiresAt) };
  await auditedCommand('token.create', details, () =>
    withReadModel(({ database }) => storeOperatorToken(database.pool, made, name, expiresAt)),
  );
  return { expiresAt: toIso(expiresAt) };
}

async function list({ team: idOrName, json }: Flags): Promise<void> {
  if (idOrName === undefined) {
    const tokens = await withReadModel(({ database }) => listOperatorTokens(database.pool));
    if (json) writeOut(JSON.stringify(tokens.map(operatorTokenAsJson)));
    else
      await writeTable(
        ['ID', 'NAME', 'ENDS IN', 'CREATED', 'STATE', 'EXPIRES', 'LAST USED'],
        tokens.map((token) => [
          token.id,
          token.name,
          token.endsIn ?? '',
          describeTime(token.createdAt),
          stateOf(token, Date.now()),
          describeTime(token.expiresAt),
          describeTime(token.usedAt),
        ]),
      );
    return;
  }
  const { tokens, now } = await withService(async ({ log, teams }) => {
    const team = await findTeamByIdOrName({ teams }, idOrName);
    return { tokens: await teams.tokens(team.id), now: log.now() };
  });
  if (json) {
    writeOut(JSON.stringify(tokens.map(tokenAsJson)));
    return;
  }
  await writeTable(
    ['ID', 'NAME', 'ENDS IN', 'CREATED', 'STATE', 'ACCESS', 'APP', 'EXPIRES', 'LAST USED'],
    tokens.map((token) => [
      token.id,
      token.name,
      token.endsIn ?? '',
      describeTime(token.createdAt),
      stateOf(token, now),
      token.readOnly ? 'read' : 'read and write',
      token.appId ?? 'all',
      describeTime(token.expiresAt),
      describeTime(token.usedAt),
    ]),
  );
}

async function revoke(text: string, flags: Flags): Promise<void> {
  // Do not record `text` itself: somebody may have given the token instead of its ID.
  const details = {
    ...(flags.team === undefined ? { operator: true } : { team: flags.team }),
    tokenId: normalId(text),
  };
  const { name, id, problem } = await auditedCommand('token.revoke', details, (details) => {
    return flags.team === undefined ? revokeOfOperator(text, details) : revokeOfTeam(flags.team, text, details);
  });
  if (flags.json) writeOut(JSON.stringify({ id, name, revoked: true, inLog: problem === null }));
  else writeWords(`The token ${JSON.stringify(name)} is revoked. Running services refuse it within two seconds.`);
  if (problem !== null)
    writeWords(
      `The revocation could not be appended to the log (${problem}). The service appends it as soon as it can.`,
    );
}

/** A revoked token. `problem` is why the revocation could not be appended to the log; null: it was, or need not be. */
interface Revoked {
  readonly id: string;
  readonly name: string;
  readonly problem: string | null;
}

async function revokeOfTeam(idOrName: string, text: string, details: AuditDetails): Promise<Revoked> {
  return withReadModel(async ({ database, queries: { teams } }, withLog) => {
    const known = await findToken(teams, idOrName, text).catch((error: unknown) => {
      if (error instanceof UserError) return null;
      throw error;
    });
    // If it is unknown, look again once the read model has caught up with the log.
    const { id, name, teamId } = known ?? (await withLog(() => findToken(teams, idOrName, text)));
    Object.assign(details, { teamId, tokenId: id, name });
    const problem = await revokeTeamToken(database.pool, { id, teamId }, (work) =>
      withLog(work, readConfig().OUTCOME_WAIT_MS),
    );
    return { id, name, problem: problem?.message ?? null };
  });
}

async function revokeOfOperator(text: string, details: AuditDetails): Promise<Revoked> {
  const id = normalId(text);
  const name = id === null ? null : await withReadModel(({ database }) => revokeOperatorToken(database.pool, id));
  if (id === null || name === null)
    throw new UserError(`There is no operator token with the ID ${JSON.stringify(text)}.`);
  details['name'] = name;
  return { id, name, problem: null };
}

/** Finds a token of a team by its ID. Rejects with UserError if the team has no such token. */
async function findToken(teams: TeamQueries, idOrName: string, text: string): Promise<TokenSummary> {
  const team = await findTeamByIdOrName({ teams }, idOrName);
  const found = (await teams.tokens(team.id)).find(({ id }) => id === normalId(text));
  if (!found)
    throw new UserError(`The team ${JSON.stringify(team.name)} has no token with the ID ${JSON.stringify(text)}.`);
  return found;
}

function stateOf({ revoked, expiresAt }: OperatorToken, now: number): string {
  if (revoked) return 'revoked';
  return expiresAt !== null && now >= expiresAt ? 'expired' : 'active';
}

/** `2027-01-31 12:00Z` */
function describeTime(time: number | null): string {
  return (
    toIso(time)
      ?.replace('T', ' ')
      .replace(/:[0-9.]+Z$/, 'Z') ?? 'never'
  );
}
