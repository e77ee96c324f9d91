/** What is dangerous in settings that are valid. The start of the service logs a warning for each. */
import type { Config } from './config.ts';
import { isLoopback } from '../storage/loopback.ts';

/**
 * Passwords that examples and images have; others that are easily guessed are the name of the user or of the database.
 */
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

/** One sentence or two for each danger: what can happen, and the setting that ends it. Pure; contains no secrets. */
export function findDangers(config: Config): string[] {
  return [...findKafkaDanger(config), ...findLinkDanger(config), ...findPasswordDanger(config)];
}

/**
 * What is dangerous if this many teams have a plan without a limit of the bytes of the log. With one team there is no
 * danger: it takes room from nobody else.
 */
export function findQuotaDanger(
  { LOG_BYTES_PER_DAY }: Pick<Config, 'LOG_BYTES_PER_DAY'>,
  teamsWithoutLimit: number,
): string[] {
  if (LOG_BYTES_PER_DAY !== undefined || teamsWithoutLimit < 2) return [];
  return [
    `LOG_BYTES_PER_DAY: is not set, and ${teamsWithoutLimit} teams have no limit of their own: any of them can fill the disk of all. Set it, or limit each team with ` +
      '`tablog plans set`. docs/reference/limits.md says what else a public service limits.',
  ];
}

function findKafkaDanger({ KAFKA_SASL_MECHANISM, KAFKA_SSL }: Config): string[] {
  if (KAFKA_SASL_MECHANISM !== 'plain' || KAFKA_SSL) return [];
  return [
    'KAFKA_SASL_MECHANISM: `plain` without TLS sends KAFKA_SASL_PASSWORD to the brokers as it is: whoever reads the network ' +
      'can then read and write the log. Set KAFKA_SSL=true.',
  ];
}

function findLinkDanger({ PUBLIC_URL, DATABASE_URL, HOST, ROLE }: Config): string[] {
  const isDeployed = DATABASE_URL !== undefined || !isLoopback(HOST);
  // A projector gives out no links.
  if (PUBLIC_URL !== undefined || !isDeployed || ROLE === 'projector') return [];
  return [
    'PUBLIC_URL: is not set, so the URLs of uploads and files are made of the `Host` that each client sends, with http://. Behind a proxy ' +
      "they may lead nowhere, or to a host of the client's choice, and rows keep them. Set it to the address at which clients reach the service.",
  ];
}

function findPasswordDanger({ DATABASE_URL }: Config): string[] {
  // Postgres itself refuses what is no URL, with a better message.
  if (DATABASE_URL === undefined || !URL.canParse(DATABASE_URL)) return [];
  const { username, password: inAuthority, pathname, searchParams } = new URL(DATABASE_URL);
  const password = decode(inAuthority) || searchParams.get('password') || '';
  // A certificate takes the place of a password.
  if (password === '' && searchParams.has('sslcert')) return [];
  const isKnown =
    knownPasswords.has(password) || password === decode(username) || password === decode(pathname.slice(1));
  if (password !== '' && !isKnown) return [];
  return [
    `DATABASE_URL: ${password === '' ? 'has no password' : 'its password is easily guessed'}: whoever reaches that Postgres may be able to read ` +
      'and change the data of all teams. Give its user a password that is long and random, and put that into DATABASE_URL.',
  ];
}

/** A broken escape stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
