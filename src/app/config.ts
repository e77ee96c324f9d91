/**
 * Reads the settings from the environment; nothing else reads them. One schema describes every setting, and all
 * problems are reported together.
 */
import { z } from 'zod';
import { parseByteSize } from '../language/byte-size.ts';
import { describeMisfit } from '../language/values/describe-misfit.ts';
import { ConfigError } from '../storage/config-error.ts';
import { parseTrustedProxies } from '../api/http/server/trusted-proxies.ts';

const timerMsMax = 2 ** 31 - 1;
const portMax = 65_535;
/** The largest count that the read model can store. */
const int4Max = 2 ** 31 - 1;
/** The largest number of a structured field (RFC 9651), such as `RateLimit`. */
const integerMax = 999_999_999_999_999;
/**
 * A week. Garbage collection of generations ignores the chunks of stashes, so a stash must expire long before it runs.
 */
const stashLifeMax = 7 * 24 * 3_600_000;
/** The S3 limit for a single PUT or copy, minus the SHA-256 that a backup appends to a file. */
const uploadSizeMax = 5 * 2 ** 30 - 32;
/** A year, in seconds. Caches treat longer times like a year. */
const filesCacheMax = 365 * 24 * 3600;
/** The longest life of a signed S3 URL. */
const uploadLifeMax = 7 * 24 * 3_600_000;

function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const isBounded = max !== Number.MAX_SAFE_INTEGER;
  const problem = `must be a whole number ${isBounded ? `from ${min} to ${max}` : `of at least ${min}`}`;
  return z
    .string()
    .regex(/^[0-9]+$/, problem)
    .transform(Number)
    .pipe(
      z
        .number()
        .min(min, problem)
        .max(max, isBounded ? problem : `must be at most ${max}`),
    );
}

function byteSize() {
  const problem = 'must be a size in bytes, or with a unit, such as 500MB or 1GiB';
  return z
    .string()
    .refine((text) => parseByteSize(text) !== null, problem)
    .transform((text) => parseByteSize(text)!);
}

/** One of these values. The error message lists all of them. */
function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  return z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);
}

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' });

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const yesOrNo = oneOf(['true', 'false']).transform((text) => text === 'true');

const settings = z.object({
  DATA_DIR: z
    .string()
    .default('./data')
    .describe(
      'The folder for the data of this process: the embedded Postgres, uploaded files, large bodies while they arrive, and the first token in the file `token`. It is created if it is missing.',
    ),
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('The address to listen on. `0.0.0.0` means every IPv4 address of the machine.'),
  PORT: wholeNumber(0, portMax).default(8080).describe('The TCP port to listen on. 0: any free port.'),
  METRICS_PORT: wholeNumber(0, portMax)
    .optional()
    .describe(
      'A TCP port only for `/metrics` and probes, on the same address. 0: any free port. Without it, `/metrics` is on `PORT`, open to everybody who reaches that port. `/livez` and `/readyz` are on both ports.',
    ),
  PUBLIC_URL: httpUrl
    .optional()
    .describe(
      'The address at which clients reach the service. The links that the service hands out and `/openapi.json` begin with it.',
    ),
  FILES_URL: httpUrl
    .optional()
    .describe(
      'A second origin at which clients reach the service, only for uploaded files, such as `https://files.example.org`. Without it, files are under `PUBLIC_URL`, like the console. See [deploy.md](../operate/deploy.md#files-at-an-origin-of-their-own).',
    ),
  CORS_ORIGINS: z
    .string()
    .regex(
      /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+(,[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+)*)$/,
      'must be `*`, or origins such as https://app.example.org, separated by commas',
    )
    .transform((text) => (text === '*' ? text : text.split(',')))
    .optional()
    .describe(
      'The origins whose pages may use the service from a browser, such as `https://app.example.org`, separated by commas; `*`: all origins. Without it, browsers let no page of another origin read answers.',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional()
    .describe(
      'The Postgres to use, as a connection string. Without it, the service starts an embedded Postgres in `DATA_DIR`.',
    ),
  ROLE: oneOf(['all', 'api', 'projector'])
    .default('all')
    .describe(
      'The work of this process, if the log is in Kafka: `api` answers requests, `projector` projects the log, `all` does both. The embedded Postgres supports only `all`.',
    ),
  KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,:]+:[0-9]+(,[^\s,:]+:[0-9]+)*$/, 'must be host:port, separated by commas')
    .transform((text) => text.split(','))
    .optional()
    .describe(
      'The Kafka brokers for the log, as `host:port`, separated by commas. Without it, the log is in Postgres.',
    ),
  KAFKA_TOPIC: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,249}$/, 'must be 1 to 249 letters, digits, `.`, `_` or `-`')
    .default('tablog.events')
    .describe('The topic of the log. It is created if it is missing.'),
  KAFKA_GROUP: z
    .string()
    .min(1)
    .default('tablog-projectors')
    .describe(
      "The consumer group that distributes the partitions among the projectors of a read model. The service appends the name of the read model's schema.",
    ),
  KAFKA_REPLICAS: wholeNumber(1, 100)
    .optional()
    .describe('The number of replicas of the log. Without it, three, or the number of brokers if that is lower.'),
  KAFKA_SSL: yesOrNo.default(false).describe('Whether to connect to the brokers with TLS (`true` or `false`).'),
  KAFKA_SSL_CA_FILE: z
    .string()
    .optional()
    .describe('A PEM file with the certificates of the authorities that this service trusts for the brokers.'),
  KAFKA_SSL_CERT_FILE: z
    .string()
    .optional()
    .describe('A PEM file with the certificate that this service shows to the brokers.'),
  KAFKA_SSL_KEY_FILE: z.string().optional().describe('A PEM file with the key of that certificate.'),
  KAFKA_SASL_MECHANISM: oneOf(['plain', 'scram-sha-256', 'scram-sha-512'])
    .optional()
    .describe(
      'How this service logs in to the brokers: `plain`, `scram-sha-256` or `scram-sha-512`. Without it, the service does not log in.',
    ),
  KAFKA_SASL_USERNAME: z.string().optional().describe('The user name for that login.'),
  KAFKA_SASL_PASSWORD: z.string().optional().describe('The password for that login.'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The minimum level of log lines.'),
  LOG_REQUESTS: yesOrNo.default(false).describe('Whether to log each request and its answer (`true` or `false`).'),
  AUDIT_LOG_FILE: z
    .string()
    .optional()
    .describe(
      'The file of the audit log, to which the service appends lines. It is created if it is missing. Without it, the lines are in the log of the process. See [audit-log.md](audit-log.md).',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'The OpenTelemetry collector that receives traces, as OTLP over HTTP, such as `http://127.0.0.1:4318`. Without it, there are no traces. See [metrics.md](metrics.md#traces).',
    ),
  OTEL_SERVICE_NAME: z.string().default('tablog').describe('The name of the service in traces.'),
  OTEL_TRACES_SAMPLER: oneOf(samplers)
    .default('parentbased_always_on')
    .describe(
      'Which requests are traced: `always_on`, `always_off` or `traceidratio`. With the prefix `parentbased_`, the `traceparent` of a request decides if it has one.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number({ error: 'must be a number from 0 to 1' })
    .min(0, 'must be a number from 0 to 1')
    .max(1, 'must be a number from 0 to 1')
    .default(1)
    .describe('The share of requests that `traceidratio` traces, from 0 to 1.'),
  BODY_SIZE_MAX_BYTES: wholeNumber(1)
    .default(15_000_000)
    .describe('The maximum size of a request body after decompression. A larger one is answered 413.'),
  ROWS_PER_TABLE_MAX: wholeNumber(1).default(10_000_000).describe('The maximum number of rows of a table.'),
  TABLES_MAX: wholeNumber(1)
    .default(10_000)
    .describe(
      'The maximum number of tables of a team. The plan of a team takes precedence. See [limits.md](limits.md).',
    ),
  BODIES_OPEN_MAX: wholeNumber(1)
    .default(1000)
    .describe(
      'The maximum number of open large bodies of a team: bodies of more than 10,000 rows or 512 KiB that are being appended, or that were left incomplete within the last hour. The plan of a team takes precedence.',
    ),
  STASHES_MAX: wholeNumber(1)
    .default(10_000)
    .describe(
      'The maximum number of stashes of a team that are not deleted or expired. The plan of a team takes precedence.',
    ),
  STASH_LIFE_MS: wholeNumber(1, stashLifeMax)
    .default(48 * 3_600_000)
    .describe('How long a stash can be imported after its first chunk arrived, in milliseconds; at most a week.'),
  STASH_CHUNKS_MAX: wholeNumber(1, int4Max).default(100_000).describe('The maximum number of chunks of a stash.'),
  STASH_ROWS_MAX: wholeNumber(1, int4Max).default(10_000_000).describe('The maximum number of rows of a stash.'),
  LOG_BYTES_PER_DAY: wholeNumber(1)
    .optional()
    .describe(
      'The maximum number of bytes that the writes of a team may append to the log in a day (UTC). The plan of a team takes precedence. Without it, there is no such limit. See [limits.md](limits.md).',
    ),
  RATE_LIMIT_REQUESTS: wholeNumber(1, int4Max)
    .optional()
    .describe(
      'The maximum number of requests of a team in a window; further ones are answered 429. Without it, there is no such limit. See [rate-limits.md](rate-limits.md).',
    ),
  RATE_LIMIT_ROWS: wholeNumber(1, int4Max)
    .optional()
    .describe(
      'The maximum number of rows that a team may write in a window; further writes are answered 429. Without it, there is no such limit.',
    ),
  RATE_LIMIT_BYTES: wholeNumber(1, integerMax)
    .optional()
    .describe(
      'The maximum size of the request bodies of a team in a window, in bytes before decompression; further ones are answered 429. Without it, there is no such limit.',
    ),
  RATE_LIMIT_IMPORTS: wholeNumber(1, int4Max)
    .optional()
    .describe(
      'The maximum number of stash imports of a team in a window; further ones are answered 429. Without it, there is no such limit.',
    ),
  RATE_LIMIT_REFUSALS: wholeNumber(0, int4Max)
    .default(100)
    .describe(
      'The maximum number of requests of a client address in a window without a valid token, or with an upload URL that this service did not sign; further ones are answered 429. 0: no limit.',
    ),
  RATE_LIMIT_PUBLIC: wholeNumber(0, int4Max)
    .default(12_000)
    .describe(
      'The maximum number of requests of a client address in a window to paths that need no token; further ones are answered 429. 0: no limit.',
    ),
  RATE_LIMIT_CONNECTIONS: wholeNumber(0, int4Max)
    .default(12_000)
    .describe(
      'The maximum number of new connections of a client address in a window that bring no valid token; further ones are closed. 0: no limit.',
    ),
  RATE_LIMIT_WINDOW_MS: wholeNumber(1000, 86_400_000)
    .default(60_000)
    .describe(
      'The length of the window of these limits, in milliseconds; at least a second, at most a day. Answers show it in whole seconds, rounded up.',
    ),
  FILES_DIR: z
    .string()
    .optional()
    .describe(
      'The folder of uploaded files, shared by all processes. It is created if it is missing. Without it, `files` in `DATA_DIR`.',
    ),
  FILES_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be 3 to 63 lowercase letters, digits, `.` or `-`')
    .optional()
    .describe('The S3 bucket for uploaded files, instead of a folder.'),
  FILES_S3_ENDPOINT: httpUrl.optional().describe('The address of that S3. Without it, AWS in `FILES_S3_REGION`.'),
  FILES_S3_PUBLIC_ENDPOINT: httpUrl
    .optional()
    .describe('The address at which clients reach that S3 to send files, if it differs from `FILES_S3_ENDPOINT`.'),
  FILES_S3_REGION: z.string().min(1).default('us-east-1').describe('The region of the bucket.'),
  FILES_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe(
      'The ID of the access key for the S3. Without it, the AWS SDK looks for credentials: in its environment variables, in its files, and in the role of the machine.',
    ),
  FILES_S3_SECRET_ACCESS_KEY: z.string().optional().describe('The secret of that key.'),
  FILES_S3_PATH_STYLE: yesOrNo
    .default(false)
    .describe(
      'Whether URLs have the bucket in their path instead of their host name (`true` or `false`). MinIO and others need `true`.',
    ),
  FILES_S3_PREFIX: z
    .string()
    .regex(/^([\w-][\w.-]*\/)+$/, 'must be like `tablog/`: letters, digits, `.`, `_` and `-`, and a `/` at the end')
    .optional()
    .describe('The prefix of all keys in the bucket, such as `tablog/`.'),
  FILES_CACHE_SECONDS: wholeNumber(0, filesCacheMax)
    .default(3600)
    .describe(
      'How long browsers and other caches may show an uploaded file before they check that it still exists, in seconds; at most a year. A withdrawn file may remain visible for that long.',
    ),
  UPLOAD_SIZE_MAX_BYTES: wholeNumber(1, uploadSizeMax)
    .default(100 * 1024 * 1024)
    .describe('The maximum size of an uploaded file, in bytes; at most 5 GiB minus 32 bytes.'),
  UPLOAD_LIFE_MS: wholeNumber(1, uploadLifeMax)
    .default(24 * 3_600_000)
    .describe(
      'How long a client can send the bytes of a file after it created the upload, in milliseconds; at most a week.',
    ),
  UPLOAD_UNCLAIMED_LIFE_MS: wholeNumber(1)
    .default(30 * 24 * 3_600_000)
    .describe('How long an uploaded file is kept while no row names it, in milliseconds.'),
  UPLOADS_OPEN_MAX: wholeNumber(1)
    .default(1000)
    .describe(
      'The maximum number of uploads of a team that are not completed or expired. The plan of a team takes precedence. Their bytes do not count as bytes of files yet.',
    ),
  UPLOADS_OPEN_BYTES_MAX: wholeNumber(1)
    .default(100 * 2 ** 30)
    .describe(
      'The maximum size of these uploads of a team together, in bytes. The plan of a team takes precedence. Each upload counts with `UPLOAD_SIZE_MAX_BYTES`, however much has arrived.',
    ),
  DISK_FREE_MIN: byteSize()
    .default(2 ** 30)
    .describe(
      'The minimum free space on the disks of `DATA_DIR` and `FILES_DIR`, in bytes or with a unit (`500MB`, `1GiB`). If less is free, the service answers large bodies, chunks and uploads with 503. If the disk of the embedded Postgres has less than a quarter of it free, the service answers all writes except deletions with 503. If there are several teams, each may take in a day at most as much of a disk as is free above that quarter. 0: the service refuses nothing. See [limits.md](limits.md).',
    ),
  CONNECTIONS_MAX: wholeNumber(1)
    .default(10_000)
    .describe(
      'The maximum number of open client connections. When a further one opens, the service closes the oldest idle connection of the client address that holds most. If that address has no idle connection, the service closes the new one.',
    ),
  CONNECTIONS_PER_ADDRESS_MAX: wholeNumber(1)
    .optional()
    .describe(
      'The maximum number of open connections of one client address. Without it, half of `CONNECTIONS_MAX`. Addresses in `TRUSTED_PROXIES` are exempt.',
    ),
  TRUSTED_PROXIES: z
    .string()
    .refine(
      (text) => parseTrustedProxies(text) !== null,
      'must be addresses and networks such as 10.0.0.0/8, separated by commas, or a number of proxies from 1 to 100',
    )
    .transform((text) => parseTrustedProxies(text)!)
    .optional()
    .describe(
      'The proxies whose `X-Forwarded-For` the service believes: their addresses and networks, such as `10.0.0.7,fd00::/8`, or the number of proxies that every request passes. Without it, the address of the connection counts as the client. See [rate-limits.md](rate-limits.md#behind-a-proxy).',
    ),
  REQUEST_IDLE_TIMEOUT_MS: wholeNumber(1, timerMsMax)
    .default(60_000)
    .describe('How long a client may pause within a request, without sending or reading anything, in milliseconds.'),
  BODY_RATE_MIN: wholeNumber(0, int4Max)
    .default(1024)
    .describe(
      'The minimum rate at which a client must send a body while the service waits for it, in bytes a second. A slower one is answered 408. 0: no limit. See [limits.md](limits.md).',
    ),
  BODY_RATE_WINDOW_MS: wholeNumber(100, timerMsMax)
    .default(30_000)
    .describe(
      'The window over which that rate is measured, in milliseconds. A client may pause for that long, also at the beginning.',
    ),
  BODY_TIME_MAX_MS: wholeNumber(1000, timerMsMax)
    .default(3_600_000)
    .describe(
      'How long the service waits for a client during one body in total, in milliseconds. A body that takes longer is answered 408.',
    ),
  START_WAIT_MS: wholeNumber(0, timerMsMax)
    .default(60_000)
    .describe('How long a start waits for Postgres, Kafka or S3 if they cannot be reached yet, in milliseconds.'),
  DRAIN_TIMEOUT_MS: wholeNumber(0, timerMsMax)
    .default(10_000)
    .describe('How long requests may continue after a stop signal, in milliseconds.'),
  OUTCOME_WAIT_MS: wholeNumber(1, timerMsMax)
    .default(10_000)
    .describe('How long a request waits for its outcome without any progress, in milliseconds.'),
  STANDSTILL_MAX_MS: wholeNumber(0, timerMsMax)
    .default(120_000)
    .describe(
      'How long a partition may stand still in this process before the process ends itself with exit code 1, in milliseconds. Time for which `/readyz` names another reason does not count. `/readyz` answers 503 after a quarter of that time, and after 30 s at the latest. 0: the process never ends itself. See [operations.md](../operate/operations.md#a-process-stands-still).',
    ),
  ASYNC_WAIT_MS: wholeNumber(0, timerMsMax)
    .default(1000)
    .describe(
      'How long a request with `x-service-asynchronous: true` waits for its outcome before it is answered 202 with a job, in milliseconds. 0: it does not wait.',
    ),
  MAINTENANCE_INTERVAL_MS: wholeNumber(1, timerMsMax)
    .default(10_000)
    .describe('How long compaction and garbage collection pause when there is nothing to do, in milliseconds.'),
  RESPONSE_BYTES_MAX: wholeNumber(1024 * 1024)
    .default(128 * 1024 * 1024)
    .describe(
      'The maximum size of all pages and parts of files that are being read or that clients have not read yet, in bytes. Beyond it, reads wait, and then are answered 429 or 503. See [limits.md](limits.md).',
    ),
  QUERY_MEMORY_MAX: byteSize()
    .default(160 * 2 ** 20)
    .describe(
      'The memory for queries in each of the two query processes, one for SQL and one for all other queries, in bytes or with a unit (`500MB`, `1GiB`). A process needs about 350 MiB more. If it takes 512 MiB more, the service ends it. The first SQL query starts the process for SQL.',
    ),
  QUERY_DISK_MAX: byteSize()
    .default(4 * 2 ** 30)
    .describe(
      'The maximum disk space of each of the two query processes in `DATA_DIR`: three quarters for copies of queried tables, which can be rebuilt, and for exports; the rest for temporary data of queries.',
    ),
  QUERY_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional()
    .describe(
      'A connection string to the same database with a read-only Postgres role for the query processes, such as `postgres://tablog_queries:...@host/tablog`. Grant the role `pg_read_all_data`. Without it, they connect with `DATABASE_URL` and use read-only transactions. On the embedded Postgres they always have such a role.',
    ),
  QUERY_TIMEOUT_MS: wholeNumber(1, timerMsMax)
    .default(30_000)
    .describe('How long a query may take, in milliseconds. A longer one is answered 408.'),
  QUERY_HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'The address that the query engine listens on. If APIs run on several machines or in containers, set an address at which the other APIs reach this one: the engine that gave the first page of a query also gives the further pages. `0.0.0.0` means every IPv4 address of the machine; the other APIs use the first one.',
    ),
  QUERY_PORT: wholeNumber(0, portMax)
    .default(0)
    .describe('The TCP port that the query engine listens on. 0: any free port.'),
  APPEND_QUEUE_EVENTS_MAX: wholeNumber(1)
    .default(10_000)
    .describe('The maximum number of events that wait to be appended to the log. Beyond it, writes are answered 503.'),
  APPEND_QUEUE_BYTES_MAX: wholeNumber(1)
    .default(64 * 1024 * 1024)
    .describe(
      'The maximum size of the events that wait to be appended to the log, in bytes. Beyond it, writes are answered 503.',
    ),
  PROJECTION_LAG_EVENTS_MAX: wholeNumber(1)
    .default(100_000)
    .describe(
      'If the log is in Kafka: how many events the projection of a partition may be behind. Beyond it, writes are answered 503.',
    ),
});

/** The settings, under their names in the environment. */
export type Config = z.output<typeof settings>;

/** Deprecated names of settings. */
const formerNames = { MAINTENANCE_INTERVAL_MS: 'UPKEEP_INTERVAL_MS' } as const;

/** Reads the settings. An empty variable counts as unset. Throws ConfigError. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  for (const [name, former] of Object.entries(formerNames)) given[name] ??= given[former];
  const result = settings.safeParse(given, { error: describeMisfit });
  const nameOf = (name: string): string => {
    const former = (formerNames as Readonly<Record<string, string>>)[name];
    return former !== undefined && environment[name] === undefined && environment[former] !== undefined ? former : name;
  };
  const problems = (result.error?.issues ?? []).map((issue) => `${nameOf(issue.path.join('.'))}: ${issue.message}`);
  problems.push(...findContradictions(given));
  if (problems.length > 0) throw new ConfigError(problems);
  return result.data!;
}

/** Settings that contradict each other, or lack one that they need. A sentence for each. */
function findContradictions(given: Readonly<Record<string, string | undefined>>): string[] {
  const has = (name: keyof Config): boolean => given[name] !== undefined;
  const port = Number(given['PORT'] ?? settings.shape.PORT.parse(undefined));
  /** Rules for the settings with this prefix: they have no meaning unless `first` is set. */
  const without = (first: keyof Config, start: string) =>
    (Object.keys(settings.shape) as (keyof Config)[])
      .filter((name) => name.startsWith(start) && name !== first)
      .map((name) => [has(name) && !has(first), `${name}: has no meaning without ${first}`] as const);
  const rules: readonly (readonly [boolean, string])[] = [
    [port > 0 && port <= portMax && Number(given['METRICS_PORT']) === port, 'METRICS_PORT: must not be PORT'],
    [
      has('KAFKA_BROKERS') && !has('DATABASE_URL') && (given['ROLE'] === 'api' || given['ROLE'] === 'projector'),
      `ROLE: \`${given['ROLE']}\` needs DATABASE_URL, a Postgres for all processes; the embedded one supports only \`all\``,
    ],
    [
      given['ROLE'] !== undefined && given['ROLE'] !== 'all' && !has('KAFKA_BROKERS'),
      'ROLE: without KAFKA_BROKERS only `all` is possible',
    ],
    ...without('KAFKA_BROKERS', 'KAFKA_'),
    [has('KAFKA_SSL_CERT_FILE') !== has('KAFKA_SSL_KEY_FILE'), 'KAFKA_SSL_CERT_FILE: goes with KAFKA_SSL_KEY_FILE'],
    [
      given['KAFKA_SSL'] !== 'true' && (has('KAFKA_SSL_CA_FILE') || has('KAFKA_SSL_CERT_FILE')),
      'KAFKA_SSL: must be `true` if KAFKA_SSL_CA_FILE or KAFKA_SSL_CERT_FILE is set',
    ],
    [
      has('KAFKA_SASL_MECHANISM') !== has('KAFKA_SASL_USERNAME') ||
        has('KAFKA_SASL_MECHANISM') !== has('KAFKA_SASL_PASSWORD'),
      'KAFKA_SASL_MECHANISM: goes with KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD',
    ],
    [has('FILES_URL') && !has('PUBLIC_URL'), 'FILES_URL: has no meaning without PUBLIC_URL'],
    [
      [given['FILES_URL'], given['PUBLIC_URL']].every((url) => url !== undefined && URL.canParse(url)) &&
        new URL(given['FILES_URL']!).host === new URL(given['PUBLIC_URL']!).host,
      'FILES_URL: must have another host or port than PUBLIC_URL',
    ],
    [has('FILES_DIR') && has('FILES_S3_BUCKET'), 'FILES_DIR: has no meaning with FILES_S3_BUCKET'],
    ...without('FILES_S3_BUCKET', 'FILES_S3_'),
    [
      has('FILES_S3_ACCESS_KEY_ID') !== has('FILES_S3_SECRET_ACCESS_KEY'),
      'FILES_S3_ACCESS_KEY_ID: goes with FILES_S3_SECRET_ACCESS_KEY',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, problem]) => problem);
}

/** The settings as a Markdown table. */
export function describeSettings(): string {
  const lines = Object.entries(settings.shape).map(([name, schema]) => {
    const preset = schema.parse(undefined);
    const text = preset === undefined ? 'none' : `\`${preset}\``;
    return `| \`${name}\` | ${text} | ${schema.description} |`;
  });
  return ['| Setting | Default | Meaning |', '| --- | --- | --- |', ...lines, ''].join('\n');
}
