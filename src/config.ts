/** The only reader of the environment. Every setting is a line of one schema, and all problems are told at once. */
import { z } from 'zod';

const timerMsMax = 2 ** 31 - 1;

function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  return z.string().regex(/^[0-9]+$/, 'must be a whole number').transform(Number).pipe(z.number().min(min).max(max));
}

const yesOrNo = z.enum(['true', 'false']).transform((text) => text === 'true');

const settings = z.object({
  DATA_DIR: z.string().default('./data')
    .describe('The folder of what this process keeps: the embedded Postgres and the files of uploads.'),
  HOST: z.string().default('127.0.0.1')
    .describe('The address to listen on. `0.0.0.0` is every IPv4 address of the machine.'),
  PORT: wholeNumber(0, 65_535).default(8080)
    .describe('The TCP port to listen on. 0 takes a free one.'),
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional()
    .describe('The address under which clients reach the service, for the links it hands out.'),
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://').optional()
    .describe('The Postgres to use. Without it, an embedded one is started in `DATA_DIR`.'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info')
    .describe('The least severe log lines that are written.'),
  LOG_REQUESTS: yesOrNo.default(false)
    .describe('Whether each request and its answer is logged (`true` or `false`).'),
  BODY_SIZE_MAX_BYTES: wholeNumber(1).default(15_000_000)
    .describe('The largest request body, after decompression. A larger one is 413.'),
  ROWS_PER_TABLE_MAX: wholeNumber(1).default(10_000_000)
    .describe('The most rows that a table may hold.'),
  CONNECTIONS_MAX: wholeNumber(1).default(10_000)
    .describe('The most open connections of clients. Further ones are closed as they come.'),
  REQUEST_IDLE_TIMEOUT_MS: wholeNumber(1, timerMsMax).default(60_000)
    .describe('How long a client may neither send nor read anything in the middle of a request, in milliseconds.'),
  DRAIN_TIMEOUT_MS: wholeNumber(0, timerMsMax).default(10_000)
    .describe('How long requests may go on after a stop was asked for, in milliseconds.'),
  OUTCOME_WAIT_MS: wholeNumber(1, timerMsMax).default(10_000)
    .describe('How long a request waits for its outcome while nothing moves on it, in milliseconds.'),
  APPEND_QUEUE_EVENTS_MAX: wholeNumber(1).default(10_000)
    .describe('The most events that wait to be appended to the log. Past it writes are 503.'),
  APPEND_QUEUE_BYTES_MAX: wholeNumber(1).default(64 * 1024 * 1024)
    .describe('The most bytes of events that wait to be appended to the log. Past it writes are 503.'),
});

/** The settings, under the names they have in the environment. */
export type Config = z.output<typeof settings>;

/** The environment does not fit the settings. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One line a problem: the setting's name, and what is wrong. No values: they may hold secrets. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The settings are not usable:\n${problems.join('\n')}`);
    this.problems = problems;
  }
}

/** Reads the settings. An empty variable counts as one that is not set. Throws ConfigError. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const result = settings.safeParse(given);
  if (!result.success) {
    throw new ConfigError(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  }
  return result.data;
}

/** The settings as a table in Markdown. */
export function describeSettings(): string {
  const lines = Object.entries(settings.shape).map(([name, schema]) => {
    const preset = schema.parse(undefined);
    const text = preset === undefined ? 'none' : `\`${preset}\``;
    return `| \`${name}\` | ${text} | ${schema.description} |`;
  });
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...lines, ''].join('\n');
}
