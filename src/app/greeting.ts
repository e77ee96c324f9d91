/** The greeting when the service is ready: its address, the console, and commands to paste into a shell. */
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AuditLog } from '../administration/audit/audit-log.ts';
import { countTeamsWithoutLogLimit } from '../api/usage/log-bytes-notes.ts';
import type { Config } from './config.ts';
import { findQuotaDanger } from './dangers.ts';
import { createFirstTeam, findTeamWithoutToken, tokenFileIn } from './first-team.ts';
import type { Service } from './service.ts';
import { whenReachable } from './when-reachable.ts';

interface GreetingOptions {
  readonly host: string;
  readonly port: number;
  /** The file with the token; absolute, or relative to the working directory. */
  readonly tokenFile: string;
  /** The token that this start created; null if it created none. */
  readonly newToken: string | null;
  /** Whether the message goes to a terminal. Otherwise it goes to a log, which must not contain a token. */
  readonly inTerminal: boolean;
  /** Null if `tokenFile` holds a valid token. Otherwise the ID of a team to create a token for. */
  readonly teamWithoutToken: string | null;
}

/** The text of the greeting. Its link contains the token only at the first start, and only in a terminal. */
export function describeGreeting({
  host,
  port,
  tokenFile,
  newToken,
  inTerminal,
  teamWithoutToken,
}: GreetingOptions): string {
  const url = `http://${addressOf(host)}:${port}`;
  const file = resolve(tokenFile);
  const readToken = `$(cat ${quoteForShell(file)})`;
  const curl = (token: string): string =>
    `  curl -H "Authorization: Bearer ${token}" ${quoteForShell(`${url}/tables`)}`;
  const lines =
    teamWithoutToken !== null
      ? [
          `There are teams, but ${file} holds no token of any of them. Create one with the same settings, and sign in with it there, or try:`,
          '',
          `  TOKEN=$(npm run --silent tablog -- tokens create --team ${teamWithoutToken})`,
          curl('$TOKEN'),
        ]
      : newToken === null || !inTerminal
        ? [
            'The first command prints the link to the console, the second one lists your tables:',
            '',
            `  echo "${url}/#token=${readToken}"`,
            curl(readToken),
          ]
        : [
            'Open the console, or list your tables from the command line:',
            '',
            `  ${url}/#token=${newToken}`,
            curl(readToken),
          ];
  if (newToken !== null && !inTerminal)
    lines.push('', `The token is in ${file}, which only the user of this process can read.`);
  return ['', `Tablog is ready at ${url}. ${lines[0]}`, ...lines.slice(1), '', ''].join('\n');
}

/** The address for a client on this machine, which cannot connect to a wildcard address. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Quotes a text as one word of a POSIX shell. */
function quoteForShell(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Creates the first team if there is none, and prints the greeting. Returns early if `signal` aborts. */
export async function greetWhenReachable(
  service: Service,
  port: number,
  {
    audit,
    config,
    logger,
    signal,
  }: {
    readonly audit: AuditLog;
    readonly config: Config;
    readonly logger: Logger;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  try {
    await whenReachable(
      async () => {
        const newToken = await createFirstTeam(service, config.DATA_DIR, audit);
        await greet(service, config, port, newToken);
        for (const danger of findQuotaDanger(config, await countTeamsWithoutLogLimit(service.database.pool)))
          logger.warn(danger);
      },
      config,
      logger,
      signal,
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Prints the greeting. */
async function greet(service: Service, config: Config, port: number, newToken: string | null): Promise<void> {
  const tokenFile = tokenFileIn(config.DATA_DIR);
  const teamWithoutToken = await findTeamWithoutToken(service, config.DATA_DIR);
  process.stdout.write(
    describeGreeting({
      host: config.HOST,
      port,
      tokenFile,
      newToken,
      inTerminal: process.stdout.isTTY,
      teamWithoutToken,
    }),
  );
}
