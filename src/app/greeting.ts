/** What is said when the service is ready: where it is, and lines that can be copied into a shell and work. */
import { resolve } from 'node:path';

export interface GreetingOptions {
  readonly host: string;
  readonly port: number;
  /** The file whose token is to be used; absolute, or as seen from the folder of this process. */
  readonly tokenFile: string;
  /** Null when that file holds a token of this service; else the ID of a team to make one for. */
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

/** Where a client on this machine finds the service: all addresses together are none to connect to. */
function addressOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** One word of a POSIX shell. */
function quoteForShell(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
