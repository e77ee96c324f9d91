/** The only reader of the environment. One schema describes every setting, and all problems are reported together. */
import { z } from 'zod';
import { parseByteSize } from '../language/byte-size.ts';
import { ConfigError } from '../storage/config-error.ts';
import { parseTrustedProxies } from '../api/http/server/trusted-proxies.ts';

const timerMsMax = 2 ** 31 - 1;
const portMax = 65_535;
/** The largest count that the read model can store. */
const int4Max = 2 ** 31 - 1;
/** The largest number of a structured field (RFC 9651), such as `RateLimit`. */
const integerMax = 999_999_999_999_999;
/** Garbage collection of generations ignores the chunks of stashes: a stash must expire long before that. */
const stashLifeMax = 7 * 24 * 3_600_000;
/** The S3 limit for a single PUT, and for a single copy, less the SHA-256 that a backup stores behind a file. */
const uploadSizeMax = 5 * 2 ** 30 - 32;
/** A year, in seconds: what caches take for ever. */
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

/** The message lists all values, worded like the descriptions of the settings. */
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
      'The folder of what this process keeps: the embedded Postgres, uploaded files, large bodies while they arrive, and the first token in its file `token`. Made if it is not there.',
    ),
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('The address to listen on. `0.0.0.0` is every IPv4 address of the machine.'),
  PORT: wholeNumber(0, portMax).default(8080).describe('The TCP port to listen on. 0 takes a free one.'),
  METRICS_PORT: wholeNumber(0, portMax)
    .optional()
    .describe(
      'The TCP port for `/metrics` and probes alone, on the same address; 0 takes a free one. Without it `/metrics` is on `PORT`, open to all who reach it. `/livez` and `/readyz` are on both.',
    ),
  PUBLIC_URL: httpUrl
    .optional()
    .describe('The address under which clients reach the service, for the links it hands out and for `/openapi.json`.'),
  FILES_URL: httpUrl
    .optional()
    .describe(
      'Another origin at which clients reach the service, for uploaded files alone, such as `https://files.example.org`. Without it files are under `PUBLIC_URL`, where the console is too. See [deploy.md](../operate/deploy.md#files-at-an-origin-of-their-own).',
    ),
  CORS_ORIGINS: z
    .string()
    .regex(
      /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+(,[a-z][a-z0-9+.-]*:\/\/[^\s/,*]+)*)$/,
      'must be `*`, or origins such as https://app.example.org, several with commas between them',
    )
    .transform((text) => (text === '*' ? text : text.split(',')))
    .optional()
    .describe(
      'The origins whose pages may ask the service from a browser, such as `https://app.example.org`, several with commas between them; `*` is any. Without it, browsers let no page of another origin read answers.',
    ),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional()
    .describe('The Postgres to use. Without it, an embedded one is started in `DATA_DIR`.'),
  ROLE: oneOf(['all', 'api', 'projector'])
    .default('all')
    .describe(
      'What this process does, with Kafka: `api` answers requests, `projector` projects the log, `all` does both. With the embedded Postgres there is only `all`.',
    ),
  KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,:]+:[0-9]+(,[^\s,:]+:[0-9]+)*$/, 'must be host:port, several with commas between them')
    .transform((text) => text.split(','))
    .optional()
    .describe(
      'The Kafka brokers that hold the log, as `host:port`, several with commas between them. Without them the log is in Postgres.',
    ),
  KAFKA_TOPIC: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,249}$/, 'must be 1 to 249 letters, digits, `.`, `_` or `-`')
    .default('tablog.events')
    .describe('The topic of the log. It is made if it is not there.'),
  KAFKA_GROUP: z
    .string()
    .min(1)
    .default('tablog-projectors')
    .describe(
      "The consumer group that shares the partitions out among the projectors of one read model; the name of the read model's schema is appended.",
    ),
  KAFKA_REPLICAS: wholeNumber(1, 100)
    .optional()
    .describe('How many copies of the log there must be. Without it three, or as many as there are brokers.'),
  KAFKA_SSL: yesOrNo.default(false).describe('Whether the brokers are spoken to over TLS (`true` or `false`).'),
  KAFKA_SSL_CA_FILE: z
    .string()
    .optional()
    .describe('A file with the certificates of the authorities that the brokers are trusted by, in PEM.'),
  KAFKA_SSL_CERT_FILE: z
    .string()
    .optional()
    .describe('A file with the certificate that this service shows to the brokers, in PEM.'),
  KAFKA_SSL_KEY_FILE: z.string().optional().describe('A file with the key of that certificate, in PEM.'),
  KAFKA_SASL_MECHANISM: oneOf(['plain', 'scram-sha-256', 'scram-sha-512'])
    .optional()
    .describe(
      'How this service logs in to the brokers: `plain`, `scram-sha-256` or `scram-sha-512`. Without it, it does not.',
    ),
  KAFKA_SASL_USERNAME: z.string().optional().describe('The name that this service logs in with.'),
  KAFKA_SASL_PASSWORD: z.string().optional().describe('The password that this service logs in with.'),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('The least severe log lines that are written.'),
  LOG_REQUESTS: yesOrNo.default(false).describe('Whether each request and its answer is logged (`true` or `false`).'),
  AUDIT_LOG_FILE: z
    .string()
    .optional()
    .describe(
      'The file of the audit log, to which lines are appended; made if it is not there. Without it, they are in the log of the process. See [audit-log.md](audit-log.md).',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe(
      'The collector of OpenTelemetry that traces are sent to, as OTLP over HTTP, such as `http://127.0.0.1:4318`. Without it there are none. See [metrics.md](metrics.md#traces).',
    ),
  OTEL_SERVICE_NAME: z.string().default('tablog').describe('The name of the service in traces.'),
  OTEL_TRACES_SAMPLER: oneOf(samplers)
    .default('parentbased_always_on')
    .describe(
      'Which requests are traced: `always_on`, `always_off` or `traceidratio`. With `parentbased_` before it, the `traceparent` of a request decides, if it has one.',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number({ error: 'must be a number from 0 to 1' })
    .min(0, 'must be a number from 0 to 1')
    .max(1, 'must be a number from 0 to 1')
    .default(1)
    .describe('The share of requests that `traceidratio` traces, from 0 to 1.'),
  BODY_SIZE_MAX_BYTES: wholeNumber(1)
    .default(15_000_000)
    .describe('The largest request body, after decompression. A larger one is 413.'),
  ROWS_PER_TABLE_MAX: wholeNumber(1).default(10_000_000).describe('The most rows that a table may hold.'),
  TABLES_MAX: wholeNumber(1)
    .default(10_000)
    .describe('The most tables that a team may have, unless its plan says otherwise. See [limits.md](limits.md).'),
  BODIES_OPEN_MAX: wholeNumber(1)
    .default(1000)
    .describe(
      'The most bodies of several blocks (more than 10,000 rows or 512 KiB) of a team whose blocks are being appended, or were left so in the last hour, unless its plan says otherwise.',
    ),
  STASHES_MAX: wholeNumber(1)
    .default(10_000)
    .describe('The most stashes of a team that are neither deleted nor expired, unless its plan says otherwise.'),
  STASH_LIFE_MS: wholeNumber(1, stashLifeMax)
    .default(48 * 3_600_000)
    .describe('How long a stash can be imported after its first chunk came, in milliseconds; at most a week.'),
  STASH_CHUNKS_MAX: wholeNumber(1, int4Max).default(100_000).describe('The most chunks that a stash may hold.'),
  STASH_ROWS_MAX: wholeNumber(1, int4Max).default(10_000_000).describe('The most rows that a stash may hold.'),
  LOG_BYTES_PER_DAY: wholeNumber(1)
    .optional()
    .describe(
      'The most bytes that the writes of a team append to the log in a day (UTC), unless its plan says otherwise. Without it there is no such limit. See [limits.md](limits.md).',
    ),
  RATE_LIMIT_REQUESTS: wholeNumber(1, int4Max)
    .optional()
    .describe(
      'The most requests of a team in a window; further ones are 429. Without it there is no such limit. See [rate-limits.md](rate-limits.md).',
    ),
  RATE_LIMIT_ROWS: wholeNumber(1, int4Max)
    .optional()
    .describe('The most rows that a team writes in a window; further ones are 429. Without it there is no such limit.'),
  RATE_LIMIT_BYTES: wholeNumber(1, integerMax)
    .optional()
    .describe(
      'The most bytes of request bodies of a team in a window, as they arrive; further ones are 429. Without it there is no such limit.',
    ),
  RATE_LIMIT_IMPORTS: wholeNumber(1, int4Max)
    .optional()
    .describe(
      'The most imports of stashes of a team in a window; further ones are 429. Without it there is no such limit.',
    ),
  RATE_LIMIT_REFUSALS: wholeNumber(0, int4Max)
    .default(100)
    .describe(
      'The most requests of a client address in a window without a valid token, or to an upload URL that was not signed here; further ones are 429. 0: no limit.',
    ),
  RATE_LIMIT_PUBLIC: wholeNumber(0, int4Max)
    .default(12_000)
    .describe(
      'The most requests of a client address in a window to paths that need no token; further ones are 429. 0: no limit.',
    ),
  RATE_LIMIT_CONNECTIONS: wholeNumber(0, int4Max)
    .default(12_000)
    .describe(
      'The most new connections of a client address in a window on which no valid token comes; further ones are closed. 0: no limit.',
    ),
  RATE_LIMIT_WINDOW_MS: wholeNumber(1000, 86_400_000)
    .default(60_000)
    .describe(
      'How long a window of these limits is, in milliseconds; at least a second, at most a day. Answers give it in whole seconds, rounded up.',
    ),
  FILES_DIR: z
    .string()
    .optional()
    .describe(
      'The folder of the files that are uploaded, one for all processes. Made if it is not there. Without it, `files` in `DATA_DIR`.',
    ),
  FILES_S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be 3 to 63 small letters, digits, `.` or `-`')
    .optional()
    .describe('The bucket of an S3 that the files that are uploaded are in, instead of a folder.'),
  FILES_S3_ENDPOINT: httpUrl.optional().describe('The address of that S3. Without it, the one of AWS in its region.'),
  FILES_S3_PUBLIC_ENDPOINT: httpUrl
    .optional()
    .describe('The address at which clients reach that S3, to send files to it, where it is another one.'),
  FILES_S3_REGION: z.string().min(1).default('us-east-1').describe('The region of the bucket.'),
  FILES_S3_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe(
      'The ID of the key that this service shows to the S3. Without it, what the AWS SDK finds: its environment variables, its files, the role of the machine.',
    ),
  FILES_S3_SECRET_ACCESS_KEY: z.string().optional().describe('The secret of that key.'),
  FILES_S3_PATH_STYLE: yesOrNo
    .default(false)
    .describe(
      'Whether the bucket stands in the path of a URL, not in its host name (`true` or `false`). MinIO and others need `true`.',
    ),
  FILES_S3_PREFIX: z
    .string()
    .regex(/^([\w-][\w.-]*\/)+$/, 'must be like `tablog/`: letters, digits, `.`, `_` and `-`, and a `/` at the end')
    .optional()
    .describe('What the keys in the bucket begin with, such as `tablog/`.'),
  FILES_CACHE_SECONDS: wholeNumber(0, filesCacheMax)
    .default(3600)
    .describe(
      'How long browsers and other caches may show an uploaded file before they ask whether it is still there, in seconds; at most a year. A file that was withdrawn may be seen for as long.',
    ),
  UPLOAD_SIZE_MAX_BYTES: wholeNumber(1, uploadSizeMax)
    .default(100 * 1024 * 1024)
    .describe('The largest file that can be uploaded; at most 5 GiB, less 32 bytes.'),
  UPLOAD_LIFE_MS: wholeNumber(1, uploadLifeMax)
    .default(24 * 3_600_000)
    .describe(
      'How long the bytes of a file can be sent after its upload was created, in milliseconds; at most a week.',
    ),
  UPLOAD_UNCLAIMED_LIFE_MS: wholeNumber(1)
    .default(30 * 24 * 3_600_000)
    .describe('How long an uploaded file is kept that no row names, in milliseconds.'),
  UPLOADS_OPEN_MAX: wholeNumber(1)
    .default(1000)
    .describe(
      'The most uploads of a team that are neither completed nor over, unless its plan says otherwise. What was sent for them does not count as bytes of files yet.',
    ),
  UPLOADS_OPEN_BYTES_MAX: wholeNumber(1)
    .default(100 * 2 ** 30)
    .describe(
      'The most bytes that may arrive for these uploads of a team, unless its plan says otherwise. Each counts with `UPLOAD_SIZE_MAX_BYTES`, whatever has arrived.',
    ),
  DISK_FREE_MIN: byteSize()
    .default(2 ** 30)
    .describe(
      'How much must be free on the disks of `DATA_DIR` and of `FILES_DIR`, in bytes or with a unit (`500MB`, `1GiB`). Below it, the service answers large bodies, chunks and uploads with 503. If the disk of the embedded Postgres has less than a quarter of it, the service answers all writes but deletions with 503. Beside other teams, a team takes no more of a disk in a day than is left above that quarter. 0: it refuses nothing. See [limits.md](limits.md).',
    ),
  CONNECTIONS_MAX: wholeNumber(1)
    .default(10_000)
    .describe(
      'The most open connections of clients. For a further one, the oldest idle one is closed of the client address that holds most; if there is none, the new one.',
    ),
  CONNECTIONS_PER_ADDRESS_MAX: wholeNumber(1)
    .optional()
    .describe(
      'The most open connections of one client address. Without it, half of `CONNECTIONS_MAX`. It does not hold for `TRUSTED_PROXIES`.',
    ),
  TRUSTED_PROXIES: z
    .string()
    .refine(
      (text) => parseTrustedProxies(text) !== null,
      'must be addresses and networks such as 10.0.0.0/8, with commas between them, or a number of proxies from 1 to 100',
    )
    .transform((text) => parseTrustedProxies(text)!)
    .optional()
    .describe(
      'The proxies whose `X-Forwarded-For` says which client asks: their addresses and networks, such as `10.0.0.7,fd00::/8`, or how many proxies every request passes. Without it, the client is who opened the connection. See [rate-limits.md](rate-limits.md#behind-a-proxy).',
    ),
  REQUEST_IDLE_TIMEOUT_MS: wholeNumber(1, timerMsMax)
    .default(60_000)
    .describe('How long a client may neither send nor read anything in the middle of a request, in milliseconds.'),
  BODY_RATE_MIN: wholeNumber(0, int4Max)
    .default(1024)
    .describe(
      'The least that a client must send of a body, in bytes a second, while the service waits for it. A slower one is 408. 0: no limit. See [limits.md](limits.md).',
    ),
  BODY_RATE_WINDOW_MS: wholeNumber(100, timerMsMax)
    .default(30_000)
    .describe('Over how long that is measured, in milliseconds. A client may pause as long, also at the beginning.'),
  BODY_TIME_MAX_MS: wholeNumber(1000, timerMsMax)
    .default(3_600_000)
    .describe('How long the service waits for a client in one body, in milliseconds. A body that takes longer is 408.'),
  START_WAIT_MS: wholeNumber(0, timerMsMax)
    .default(60_000)
    .describe('How long the start waits for a Postgres and a Kafka that cannot be reached yet, in milliseconds.'),
  DRAIN_TIMEOUT_MS: wholeNumber(0, timerMsMax)
    .default(10_000)
    .describe('How long requests may go on after a stop was asked for, in milliseconds.'),
  OUTCOME_WAIT_MS: wholeNumber(1, timerMsMax)
    .default(10_000)
    .describe('How long a request waits for its outcome while nothing moves on it, in milliseconds.'),
  STANDSTILL_MAX_MS: wholeNumber(0, timerMsMax)
    .default(120_000)
    .describe(
      'How long a partition may stand still in this process, without a reason that `/readyz` names, before the process ends itself with exit code 1, in milliseconds. `/readyz` is 503 from a quarter of it on, and from 30 s at the latest. 0: it never ends itself. See [operations.md](../operate/operations.md#a-process-stands-still).',
    ),
  ASYNC_WAIT_MS: wholeNumber(0, timerMsMax)
    .default(1000)
    .describe(
      'How long a request that permits it (`x-service-asynchronous: true`) waits for its outcome before it is answered 202 with a job, in milliseconds. 0: not at all.',
    ),
  MAINTENANCE_INTERVAL_MS: wholeNumber(1, timerMsMax)
    .default(10_000)
    .describe('How long compaction and garbage collection wait when they find nothing to be done, in milliseconds.'),
  RESPONSE_BYTES_MAX: wholeNumber(1024 * 1024)
    .default(128 * 1024 * 1024)
    .describe(
      'The most bytes of pages, and of parts of files, that are read, or wait for their clients to read them. Past it reads wait, then are 429 or 503. See [limits.md](limits.md).',
    ),
  QUERY_MEMORY_MAX: byteSize()
    .default(160 * 2 ** 20)
    .describe(
      'The memory that queries may take in each of the two query processes, one for SQL and one for all others, in bytes or with a unit (`500MB`, `1GiB`). A process takes about 350 MiB more; if it takes 512 MiB more, the service ends it. The one for SQL is started by the first SQL.',
    ),
  QUERY_DISK_MAX: byteSize()
    .default(4 * 2 ** 30)
    .describe(
      'The most bytes that each of the two query processes keeps in `DATA_DIR`: three quarters as copies of the tables that are asked, which can be made again, and what exports write beside them; the rest while queries run.',
    ),
  QUERY_DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional()
    .describe(
      'A Postgres role for the query processes that only reads, as a connection string to the same database, such as `postgres://tablog_queries:...@host/tablog`: give the role `pg_read_all_data`. Without it they connect as `DATABASE_URL` says, in transactions that only read. On the embedded Postgres they have such a role.',
    ),
  QUERY_TIMEOUT_MS: wholeNumber(1, timerMsMax)
    .default(30_000)
    .describe('How long a query may take, in milliseconds. A longer one is 408.'),
  QUERY_HOST: z
    .string()
    .default('127.0.0.1')
    .describe(
      'The address that the query engine listens on. Where APIs run on several machines, or in containers, set one at which the other APIs reach it: further pages of a query are asked of the engine that gave the first. `0.0.0.0` is every IPv4 address of the machine, of which the first is told to the others.',
    ),
  QUERY_PORT: wholeNumber(0, portMax)
    .default(0)
    .describe('The TCP port that the query engine listens on. 0 takes a free one.'),
  APPEND_QUEUE_EVENTS_MAX: wholeNumber(1)
    .default(10_000)
    .describe('The most events that wait to be appended to the log. Past it writes are 503.'),
  APPEND_QUEUE_BYTES_MAX: wholeNumber(1)
    .default(64 * 1024 * 1024)
    .describe('The most bytes of events that wait to be appended to the log. Past it writes are 503.'),
  PROJECTION_LAG_EVENTS_MAX: wholeNumber(1)
    .default(100_000)
    .describe(
      'The most events by which the projection of a partition may be behind, with Kafka. Past it writes are 503.',
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
  const result = settings.safeParse(given);
  const nameOf = (name: string): string => {
    const former = (formerNames as Readonly<Record<string, string>>)[name];
    return former !== undefined && environment[name] === undefined && environment[former] !== undefined ? former : name;
  };
  const problems = (result.error?.issues ?? []).map((issue) => `${nameOf(issue.path.join('.'))}: ${issue.message}`);
  problems.push(...findContradictions(given));
  if (problems.length > 0) throw new ConfigError(problems);
  return result.data!;
}

/** Problems between settings. */
function findContradictions(given: Readonly<Record<string, string | undefined>>): string[] {
  const has = (name: keyof Config): boolean => given[name] !== undefined;
  const port = Number(given['PORT'] ?? settings.shape.PORT.parse(undefined));
  /** Settings with this prefix that have no meaning unless `first` is set. */
  const without = (first: keyof Config, start: string) =>
    (Object.keys(settings.shape) as (keyof Config)[])
      .filter((name) => name.startsWith(start) && name !== first)
      .map((name) => [has(name) && !has(first), `${name}: has no meaning without ${first}`] as const);
  const rules: readonly (readonly [boolean, string])[] = [
    [port > 0 && port <= portMax && Number(given['METRICS_PORT']) === port, 'METRICS_PORT: must not be PORT'],
    [
      has('KAFKA_BROKERS') && !has('DATABASE_URL') && (given['ROLE'] === 'api' || given['ROLE'] === 'projector'),
      `ROLE: \`${given['ROLE']}\` needs DATABASE_URL, a Postgres for all processes; with the embedded one there is only \`all\``,
    ],
    [
      given['ROLE'] !== undefined && given['ROLE'] !== 'all' && !has('KAFKA_BROKERS'),
      'ROLE: there is only `all` without KAFKA_BROKERS',
    ],
    ...without('KAFKA_BROKERS', 'KAFKA_'),
    [has('KAFKA_SSL_CERT_FILE') !== has('KAFKA_SSL_KEY_FILE'), 'KAFKA_SSL_CERT_FILE: goes with KAFKA_SSL_KEY_FILE'],
    [
      given['KAFKA_SSL'] !== 'true' && (has('KAFKA_SSL_CA_FILE') || has('KAFKA_SSL_CERT_FILE')),
      'KAFKA_SSL: must be `true` for the files of TLS to be used',
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
      'FILES_URL: must name another host than PUBLIC_URL, or another port',
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
