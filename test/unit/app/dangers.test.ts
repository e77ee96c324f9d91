/** The warnings about dangerous settings. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../../src/app/config.ts';
import { findDangers, findQuotaDanger } from '../../../src/app/dangers.ts';

const safe = { DATABASE_URL: 'postgres://tablog:8d1f0c2e7a@db/tables', PUBLIC_URL: 'https://tables.example.org' };
const kafka = { ...safe, KAFKA_BROKERS: 'a:9092', KAFKA_SASL_USERNAME: 'u', KAFKA_SASL_PASSWORD: 'sesame' };
const at = (url: string): Record<string, string> => ({ ...safe, DATABASE_URL: url });

/** The settings that the warnings are about. */
function dangersOf(environment: Readonly<Record<string, string>>): string[] {
  return findDangers(readConfig(environment)).map((danger) => danger.split(':', 1)[0]!);
}

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ['no settings', {}, []],
  ['safe settings', safe, []],

  ['plain without TLS', { ...kafka, KAFKA_SASL_MECHANISM: 'plain' }, ['KAFKA_SASL_MECHANISM']],
  ['plain over TLS', { ...kafka, KAFKA_SASL_MECHANISM: 'plain', KAFKA_SSL: 'true' }, []],
  ['SCRAM without TLS', { ...kafka, KAFKA_SASL_MECHANISM: 'scram-sha-512' }, []],
  ['Kafka without a login', { ...safe, KAFKA_BROKERS: 'a:9092' }, []],

  ['a Postgres and no PUBLIC_URL', { DATABASE_URL: safe.DATABASE_URL }, ['PUBLIC_URL']],
  ['every address and no PUBLIC_URL', { HOST: '0.0.0.0' }, ['PUBLIC_URL']],
  ['every IPv6 address and no PUBLIC_URL', { HOST: '::' }, ['PUBLIC_URL']],
  ['a name and no PUBLIC_URL', { HOST: '127.example.org' }, ['PUBLIC_URL']],
  ['every address and a PUBLIC_URL', { HOST: '0.0.0.0', PUBLIC_URL: 'http://10.0.0.1' }, []],
  ['the loopback address', { HOST: '127.0.0.2' }, []],
  ['the loopback address of IPv6', { HOST: '::1' }, []],
  ['localhost', { HOST: 'localhost' }, []],
  ['an API', { ...kafka, PUBLIC_URL: '', ROLE: 'api', KAFKA_SASL_MECHANISM: 'scram-sha-256' }, ['PUBLIC_URL']],
  ['a projector', { ...kafka, PUBLIC_URL: '', ROLE: 'projector', KAFKA_SASL_MECHANISM: 'scram-sha-256' }, []],

  ['the password of an image', at('postgres://postgres:postgres@db/d'), ['DATABASE_URL']],
  ['the password of the compose file', at('postgresql://tablog:tablog@db/d'), ['DATABASE_URL']],
  ['the password of an example', at('postgres://u:mysecretpassword@db/d'), ['DATABASE_URL']],
  ['the name of the user', at('postgres://ad%61:ada@db/d'), ['DATABASE_URL']],
  ['the name of the database', at('postgres://u:shop@db/shop?sslmode=require'), ['DATABASE_URL']],
  ['an empty password', at('postgres://u:@db/d'), ['DATABASE_URL']],
  ['no password', at('postgres://u@db/d'), ['DATABASE_URL']],
  ['a user of no name', at('postgres://db/d'), ['DATABASE_URL']],
  ['a password as a parameter', at('postgres://u@db/d?password=8d1f0c2e7a'), []],
  ['a known password as a parameter', at('postgres://u@db/d?password=postgres'), ['DATABASE_URL']],
  ['a certificate', at('postgres://u@db/d?sslcert=a.pem&sslkey=a.key'), []],
  ['a password with a broken escape', at('postgres://u:%zz@db/d'), []],
  ['no URL', at('postgres://u:p@db:x/d'), []],

  [
    'all of them',
    {
      HOST: '::',
      DATABASE_URL: 'postgres://a:a@b/c',
      KAFKA_BROKERS: 'a:1',
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'u',
      KAFKA_SASL_PASSWORD: 'p',
    },
    ['KAFKA_SASL_MECHANISM', 'PUBLIC_URL', 'DATABASE_URL'],
  ],
])('dangers are told of: %s', (_name, environment, dangers) => {
  expect(dangersOf(environment)).toEqual(dangers);
});

test('each warning names the setting that ends it, and no secret', () => {
  const [plain, links] = findDangers(readConfig({ ...kafka, PUBLIC_URL: '', KAFKA_SASL_MECHANISM: 'plain' }));
  expect(plain).toMatch(/Set KAFKA_SSL=true\.$/);
  expect(links).toMatch(/^PUBLIC_URL: .* Set it to /);
  expect(findDangers(readConfig(at('postgres://u:changeme@db/d'))).join()).toMatch(
    /^DATABASE_URL: its password is easy to guess: .* into DATABASE_URL\.$/,
  );
  expect(plain).not.toContain('sesame');
});

test('the compose file gets a warning as it is, and none with a password of its own', async () => {
  const compose = await readFile(join(import.meta.dirname, '../../../docker-compose.yml'), 'utf8');
  const url = /^ +DATABASE_URL: (.*)$/m.exec(compose)![1]!;
  const withPassword = (password?: string): string =>
    url.replace(/\$\{POSTGRES_PASSWORD:-(\w+)\}/, (_, preset: string) => password ?? preset);
  expect(dangersOf(at(withPassword()))).toEqual(['DATABASE_URL']);
  expect(dangersOf(at(withPassword('8d1f0c2e7a')))).toEqual([]);
});

test.each<[Readonly<Record<string, string>>, teams: number, dangers: number]>([
  [{}, 0, 0],
  [{}, 1, 0],
  [{}, 2, 1],
  [{ LOG_BYTES_PER_DAY: '1000000' }, 2, 0],
])(
  'with %j and %d teams without a limit of their own there are %d dangers of quotas',
  (environment, teams, dangers) => {
    expect(findQuotaDanger(readConfig(environment), teams)).toHaveLength(dangers);
  },
);
