import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ConfigError } from '../../../src/storage/config-error.ts';
import { describeSettings, readConfig } from '../../../src/app/config.ts';

const kafka = { DATABASE_URL: 'postgres://u:p@h/d', KAFKA_BROKERS: 'a:9092' };

describe('readConfig', () => {
  test('reads a setting by its former name', () => {
    expect(readConfig({ UPKEEP_INTERVAL_MS: '7' })).toMatchObject({ MAINTENANCE_INTERVAL_MS: 7 });
    expect(readConfig({ UPKEEP_INTERVAL_MS: '7', MAINTENANCE_INTERVAL_MS: '8' })).toMatchObject({
      MAINTENANCE_INTERVAL_MS: 8,
    });
    expect(() => readConfig({ UPKEEP_INTERVAL_MS: 'x' })).toThrow('\nUPKEEP_INTERVAL_MS: must be');
  });

  test('has a default for everything', () => {
    expect(readConfig({})).toEqual({
      DATA_DIR: './data',
      HOST: '127.0.0.1',
      PORT: 8080,
      LOG_LEVEL: 'info',
      LOG_REQUESTS: false,
      OTEL_SERVICE_NAME: 'tablog',
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
      OTEL_TRACES_SAMPLER_ARG: 1,
      BODY_SIZE_MAX_BYTES: 15_000_000,
      ROWS_PER_TABLE_MAX: 10_000_000,
      TABLES_MAX: 10_000,
      BODIES_OPEN_MAX: 1000,
      STASHES_MAX: 10_000,
      STASH_LIFE_MS: 172_800_000,
      STASH_CHUNKS_MAX: 100_000,
      STASH_ROWS_MAX: 10_000_000,
      RATE_LIMIT_REFUSALS: 100,
      RATE_LIMIT_PUBLIC: 12_000,
      RATE_LIMIT_CONNECTIONS: 12_000,
      RATE_LIMIT_WINDOW_MS: 60_000,
      FILES_S3_REGION: 'us-east-1',
      FILES_S3_PATH_STYLE: false,
      FILES_CACHE_SECONDS: 3600,
      UPLOAD_SIZE_MAX_BYTES: 104_857_600,
      UPLOAD_LIFE_MS: 86_400_000,
      UPLOAD_UNCLAIMED_LIFE_MS: 2_592_000_000,
      UPLOADS_OPEN_MAX: 1000,
      UPLOADS_OPEN_BYTES_MAX: 107_374_182_400,
      DISK_FREE_MIN: 1_073_741_824,
      CONNECTIONS_MAX: 10_000,
      BODY_RATE_MIN: 1024,
      BODY_RATE_WINDOW_MS: 30_000,
      BODY_TIME_MAX_MS: 3_600_000,
      REQUEST_IDLE_TIMEOUT_MS: 60_000,
      DRAIN_TIMEOUT_MS: 10_000,
      STANDSTILL_MAX_MS: 120_000,
      OUTCOME_WAIT_MS: 10_000,
      ASYNC_WAIT_MS: 1000,
      RESPONSE_BYTES_MAX: 134_217_728,
      QUERY_MEMORY_MAX: 167_772_160,
      QUERY_DISK_MAX: 4_294_967_296,
      QUERY_TIMEOUT_MS: 30_000,
      QUERY_HOST: '127.0.0.1',
      QUERY_PORT: 0,
      APPEND_QUEUE_EVENTS_MAX: 10_000,
      APPEND_QUEUE_BYTES_MAX: 67_108_864,
      ROLE: 'all',
      START_WAIT_MS: 60_000,
      MAINTENANCE_INTERVAL_MS: 10_000,
      KAFKA_TOPIC: 'tablog.events',
      KAFKA_GROUP: 'tablog-projectors',
      KAFKA_SSL: false,
      PROJECTION_LAG_EVENTS_MAX: 100_000,
    });
  });

  test.each([
    [{ PORT: '0' }, { PORT: 0 }],
    [{ PORT: '' }, { PORT: 8080 }],
    [{ LOG_REQUESTS: 'true' }, { LOG_REQUESTS: true }],
    [{ DATABASE_URL: 'postgres://u:p@h/d' }, { DATABASE_URL: 'postgres://u:p@h/d' }],
    [{ PUBLIC_URL: 'https://tables.example.org' }, { PUBLIC_URL: 'https://tables.example.org' }],
    [{ CORS_ORIGINS: '*' }, { CORS_ORIGINS: '*' }],
    [
      { CORS_ORIGINS: 'https://a.example.org,http://localhost:5173' },
      { CORS_ORIGINS: ['https://a.example.org', 'http://localhost:5173'] },
    ],
    [{ TRUSTED_PROXIES: '2' }, { TRUSTED_PROXIES: 2 }],
    [
      { TRUSTED_PROXIES: '10.0.0.7,fd00::/8,172.16.0.0/12' },
      { TRUSTED_PROXIES: ['10.0.0.7', 'fd00::/8', '172.16.0.0/12'] },
    ],
    [
      { RATE_LIMIT_PUBLIC: '0', RATE_LIMIT_CONNECTIONS: '0' },
      { RATE_LIMIT_PUBLIC: 0, RATE_LIMIT_CONNECTIONS: 0 },
    ],
    [{ ASYNC_WAIT_MS: '0' }, { ASYNC_WAIT_MS: 0 }],
    [{ PATH: '/bin' }, {}],
    [
      { PORT: '0', METRICS_PORT: '0' },
      { PORT: 0, METRICS_PORT: 0 },
    ],
    [{ ...kafka, KAFKA_BROKERS: 'a:9092,b.example.org:9093' }, { KAFKA_BROKERS: ['a:9092', 'b.example.org:9093'] }],
    [{ ...kafka, ROLE: 'projector' }, { ROLE: 'projector' }],
    [{ KAFKA_BROKERS: 'a:9092' }, { KAFKA_BROKERS: ['a:9092'], ROLE: 'all' }],
    [{ FILES_DIR: '/files' }, { FILES_DIR: '/files' }],
    [
      { FILES_S3_BUCKET: 'files.example.org', FILES_S3_PREFIX: 'a/b-1/' },
      { FILES_S3_BUCKET: 'files.example.org', FILES_S3_PREFIX: 'a/b-1/' },
    ],
  ])('the environment %j gives the settings %j', (environment, settings) => {
    expect(readConfig(environment)).toMatchObject(settings);
  });

  test.each([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '80x'],
    ['PORT', '0x50'],
    ['PORT', '1e3'],
    ['PORT', ' 80'],
    ['LOG_LEVEL', 'loud'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318'],
    ['OTEL_TRACES_SAMPLER', 'all'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['LOG_REQUESTS', 'yes'],
    ['BODY_SIZE_MAX_BYTES', '0'],
    ['OUTCOME_WAIT_MS', '2147483648'],
    ['ASYNC_WAIT_MS', '-1'],
    ['RATE_LIMIT_REQUESTS', '0'],
    ['RATE_LIMIT_ROWS', '2147483648'],
    ['RATE_LIMIT_WINDOW_MS', '999'],
    ['RATE_LIMIT_WINDOW_MS', '86400001'],
    ['KAFKA_BROKERS', 'a'],
    ['KAFKA_BROKERS', 'a:9092,'],
    ['KAFKA_TOPIC', 'a b'],
    ['ROLE', 'both'],
    ['CORS_ORIGINS', 'a.example.org'],
    ['CORS_ORIGINS', 'https://a.example.org/'],
    ['CORS_ORIGINS', '*,https://a'],
    ['CORS_ORIGINS', 'https://*.example.org'],
    ['CORS_ORIGINS', 'https://a, https://b'],
    ['TRUSTED_PROXIES', '0'],
    ['TRUSTED_PROXIES', '101'],
    ['TRUSTED_PROXIES', 'proxy.example.org'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', 'fd00::/129'],
    ['TRUSTED_PROXIES', '10.0.0.7, 10.0.0.8'],
    ['TRUSTED_PROXIES', '10.0.0/8'],
    ['FILES_S3_BUCKET', 'ab'],
    ['FILES_S3_BUCKET', 'Files'],
    ['FILES_S3_BUCKET', '-files'],
    ['UPLOAD_SIZE_MAX_BYTES', '5368709121'],
    ['UPLOAD_LIFE_MS', '604800001'],
    ['UPLOADS_OPEN_MAX', '0'],
    ['DATABASE_URL', 'mysql://h/d'],
    ['DISK_FREE_MIN', '1.5GiB'],
    ['DISK_FREE_MIN', '-1'],
    ['PUBLIC_URL', 'ftp://h'],
    ['PUBLIC_URL', 'h'],
  ])('%s=%s is a problem', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError);
  });

  test.each([
    [{ KAFKA_BROKERS: 'a:9092', ROLE: 'api' }, 'ROLE'],
    [{ KAFKA_BROKERS: 'a:9092', ROLE: 'projector' }, 'ROLE'],
    [{ ROLE: 'api' }, 'ROLE'],
    [{ METRICS_PORT: '8080' }, 'METRICS_PORT'],
    [{ PORT: '80', METRICS_PORT: '80' }, 'METRICS_PORT'],
    [{ PORT: '80', METRICS_PORT: '0080' }, 'METRICS_PORT'],
    [{ KAFKA_TOPIC: 'events' }, 'KAFKA_TOPIC'],
    [{ KAFKA_GROUP: 'group', DATABASE_URL: 'postgres://h/d' }, 'KAFKA_GROUP'],
    [{ KAFKA_REPLICAS: '3', KAFKA_BROKERS: '' }, 'KAFKA_REPLICAS'],
    [{ KAFKA_SSL: 'true' }, 'KAFKA_SSL'],
    [{ ...kafka, KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: 'cert.pem' }, 'KAFKA_SSL_CERT_FILE'],
    [{ ...kafka, KAFKA_SSL_CA_FILE: 'ca.pem' }, 'KAFKA_SSL'],
    [{ ...kafka, KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'u' }, 'KAFKA_SASL_MECHANISM'],
    [{ FILES_S3_ENDPOINT: 'http://h' }, 'FILES_S3_ENDPOINT'],
    [{ FILES_S3_REGION: 'eu-central-1', FILES_DIR: '/files' }, 'FILES_S3_REGION'],
    [{ FILES_S3_BUCKET: 'files', FILES_DIR: '/files' }, 'FILES_DIR'],
    [{ FILES_S3_BUCKET: 'files', FILES_S3_ACCESS_KEY_ID: 'id' }, 'FILES_S3_ACCESS_KEY_ID'],
    [{ FILES_S3_BUCKET: 'files', FILES_S3_SECRET_ACCESS_KEY: 'secret' }, 'FILES_S3_ACCESS_KEY_ID'],
    [{ FILES_S3_BUCKET: 'files', FILES_S3_PREFIX: 'a' }, 'FILES_S3_PREFIX'],
    [{ FILES_S3_BUCKET: 'files', FILES_S3_PREFIX: '../' }, 'FILES_S3_PREFIX'],
    [{ FILES_S3_BUCKET: 'files', FILES_S3_PREFIX: '/a/' }, 'FILES_S3_PREFIX'],
  ])('%j contradicts itself in %s', (environment, name) => {
    expect(() => readConfig(environment)).toThrow(
      expect.objectContaining({ problems: [expect.stringMatching(`^${name}: `)] }),
    );
  });

  const port = 'must be a whole number from 0 to 65535';
  test.each([
    [{ PORT: '-1' }, [`PORT: ${port}`]],
    [{ PORT: '-1', METRICS_PORT: '-1' }, [`PORT: ${port}`, `METRICS_PORT: ${port}`]],
    [{ PORT: 'x', METRICS_PORT: 'x' }, [`PORT: ${port}`, `METRICS_PORT: ${port}`]],
    [{ PORT: '65536', METRICS_PORT: '65536' }, [`PORT: ${port}`, `METRICS_PORT: ${port}`]],
    [{ PORT: '1.5', METRICS_PORT: '8080' }, [`PORT: ${port}`]],
    [
      { METRICS_PORT: '8080', LOG_LEVEL: 'loud' },
      ['LOG_LEVEL: must be fatal, error, warn, info, debug, trace or silent', 'METRICS_PORT: must not be PORT'],
    ],
    [{ BODY_SIZE_MAX_BYTES: '-1' }, ['BODY_SIZE_MAX_BYTES: must be a whole number of at least 1']],
    [{ CONNECTIONS_MAX: '9007199254740992' }, ['CONNECTIONS_MAX: must be at most 9007199254740991']],
    [{ LOG_REQUESTS: 'yes' }, ['LOG_REQUESTS: must be true or false']],
    [{ PUBLIC_URL: 'here' }, ['PUBLIC_URL: must be a URL that begins with http:// or https://']],
    [
      { ROLE: 'api', KAFKA_TOPIC: 'events' },
      ['ROLE: without KAFKA_BROKERS only `all` is possible', 'KAFKA_TOPIC: has no meaning without KAFKA_BROKERS'],
    ],
    [
      { ROLE: 'api', KAFKA_BROKERS: 'a:9092' },
      ['ROLE: `api` needs DATABASE_URL, a Postgres for all processes; the embedded one supports only `all`'],
    ],
  ])('names all problems of %j, and valid values', (environment, problems) => {
    expect(() => readConfig(environment)).toThrow(expect.objectContaining({ problems }));
  });

  test('names all problems at once, without values, which may be secret', () => {
    const read = () => readConfig({ PORT: 'x', LOG_LEVEL: 'loud', DATABASE_URL: 'secret' });
    expect(read).toThrow(
      expect.objectContaining({
        problems: ['PORT', 'DATABASE_URL', 'LOG_LEVEL'].map((name) => expect.stringMatching(`^${name}: `)),
      }),
    );
    expect(read).not.toThrow('secret');
  });
});

test.each([
  [undefined, 2 ** 30],
  ['0', 0],
  ['500MB', 500_000_000],
  ['2 GiB', 2 ** 31],
  ['12345', 12_345],
])('DISK_FREE_MIN=%s is %d bytes', (text, bytes) => {
  expect(readConfig({ DISK_FREE_MIN: text }).DISK_FREE_MIN).toBe(bytes);
});

test('describeSettings has a line for each setting', () => {
  const lines = describeSettings().trimEnd().split('\n');
  expect(lines).toContain('| `PORT` | `8080` | The TCP port to listen on. 0: any free port. |');
  expect(lines).toContainEqual(expect.stringMatching(/^\| `DATABASE_URL` \| none \| /));
  expect(lines.every((line) => /^\|[^|]+\|[^|]+\|[^|]+\|$/.test(line))).toBe(true);
  expect(describeSettings()).not.toContain('undefined');
});

test('docs/reference/settings.md has the same lines', async () => {
  const document = await readFile(join(import.meta.dirname, '../../../docs/reference/settings.md'), 'utf8');
  // The formatter pads the cells of tables.
  expect(document.replaceAll(/-{4,}/g, '---').replaceAll(/ +\|/g, ' |')).toContain(describeSettings());
});
