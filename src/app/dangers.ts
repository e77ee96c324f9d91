/** Finds valid settings that are dangerous. The start of the service logs a warning for each. */
import type { Config } from './config.ts';
import { isLoopback } from '../storage/loopback.ts';

/** Passwords in examples and images. The name of the user or of the database also counts as easy to guess. */
const knownPasswords: ReadonlySet<string> = new Set([
  'postgres',
  'tablog',
  'password',
  'mysecretpassword',
  'example',
  'changeme',
  'admin',
  'secret',
]);

/** A text for each danger: what can happen, and which setting prevents it. Pure; the texts contain no secrets. */
export function findDangers(config: Config): string[] {
  return [...findKafkaDanger(config), ...findLinkDanger(config), ...findPasswordDanger(config)];
}

/**
 * The danger if `teamsWithoutLimit` teams have no limit on the bytes of the log in their plan. A single team is no
 * danger, because it takes space from nobody else.
 */
export function findQuotaDanger(
  { LOG_BYTES_PER_DAY }: Pick<Config, 'LOG_BYTES_PER_DAY'>,
  teamsWithoutLimit: number,
): string[] {
  if (LOG_BYTES_PER_DAY !== undefined || teamsWithoutLimit < 2) return [];
  return [
    `LOG_BYTES_PER_DAY: is not set, and ${teamsWithoutLimit} teams have no limit in their plan, so each of them can fill the disk that all share. Set it, or limit each team with ` +
      '`tablog plans set`. docs/reference/limits.md lists the other limits of a public service.',
  ];
}

function findKafkaDanger({ KAFKA_SASL_MECHANISM, KAFKA_SSL }: Config): string[] {
  if (KAFKA_SASL_MECHANISM !== 'plain' || KAFKA_SSL) return [];
  return [
    'KAFKA_SASL_MECHANISM: `plain` without TLS sends KAFKA_SASL_PASSWORD unencrypted: anybody who can read the network ' +
      'traffic can then read and write the log. Set KAFKA_SSL=true.',
  ];
}

function findLinkDanger({ PUBLIC_URL, DATABASE_URL, HOST, ROLE }: Config): string[] {
  const isDeployed = DATABASE_URL !== undefined || !isLoopback(HOST);
  // A projector hands out no links.
  if (PUBLIC_URL !== undefined || !isDeployed || ROLE === 'projector') return [];
  return [
    'PUBLIC_URL: is not set, so the URLs of uploads and files begin with http:// and the `Host` that each client sends. Behind a proxy ' +
      "they may not work, or lead to a host of the client's choice, and rows store them. Set it to the address at which clients reach the service.",
  ];
}

function findPasswordDanger({ DATABASE_URL }: Config): string[] {
  // If it is not a URL, Postgres refuses it with a better message.
  if (DATABASE_URL === undefined || !URL.canParse(DATABASE_URL)) return [];
  const { username, password: inAuthority, pathname, searchParams } = new URL(DATABASE_URL);
  const password = decode(inAuthority) || searchParams.get('password') || '';
  // A certificate replaces a password.
  if (password === '' && searchParams.has('sslcert')) return [];
  const isKnown =
    knownPasswords.has(password) || password === decode(username) || password === decode(pathname.slice(1));
  if (password !== '' && !isKnown) return [];
  return [
    `DATABASE_URL: ${password === '' ? 'has no password' : 'its password is easy to guess'}: anybody who reaches that Postgres may be able to read ` +
      'and change the data of all teams. Give its user a long random password, and put it into DATABASE_URL.',
  ];
}

/** Decodes the percent-encoding of a text. A text with a broken escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
