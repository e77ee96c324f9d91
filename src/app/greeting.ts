/** The message when the service is ready: its address, and commands that can be pasted into a shell. */
import { resolve } from 'node:path';

export interface GreetingOptions {
  readonly host: string;
  readonly port: number;
  /** The file with the token; absolute, or relative to the working directory. */
  readonly tokenFile: string;
  /** Null if that file holds a valid token; else the ID of a team to create one for. */
  readonly teamWithoutToken: string | null;
}

export function describeGreeting({ host, port, tokenFile, teamWithoutToken }: GreetingOptions): string {
  const url = `http://${addressOf(host)}:${port}`;
  const path = resolve(tokenFile);
  const curl = (token: string): string => `curl -H "Authorization: Bearer ${token}" ${quoteForShell(`${url}/tables`)}`;
  const lines = teamWithoutToken === null
    ? ['Try:', '', `  ${curl(`$(cat ${quoteForShell(path)})`)}`]
    : [
      `There are teams, but ${path} holds no token of theirs. Make one, with the same settings, and try:`, '',
      `  TOKEN=$(npm run --silent tablog -- tokens create --team ${teamWithoutToken})`,
      `  ${curl('$TOKEN')}`,
    ];
  return ['', `Tablog is ready at ${url}. ${lines[0]}`, ...lines.slice(1), '', ''].join('\n');
}

/** The address for a client on this machine: one cannot connect to the wildcard address. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Quotes a text as one word of a POSIX shell. */
function quoteForShell(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
