/**
 * Reads the client's settings: the URL of the service, and the access token. Flags take precedence over the
 * environment, which takes precedence over the settings file.
 */
import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { describeMisfit } from '../../language/values/describe-misfit.ts';
import { UserError } from '../user-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const settings = z.strictObject({
  url: z
    .string()
    .refine(isServiceUrl, 'must be a URL that begins with http:// or https:// and has no user, query or fragment')
    .transform((text) => text.replace(/\/+$/, '')),
  token: z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII characters without blanks'),
});

type ClientSettings = z.output<typeof settings>;
type Name = keyof ClientSettings;

/** The values of the flags. */
export type ClientFlags = Readonly<Partial<Record<Name, string | undefined>>>;

const variables = { url: 'TABLOG_URL', token: 'TABLOG_TOKEN' } as const;

const fileContent = settings.partial().extend({ url: z.string().optional(), token: z.string().optional() });
type FileContent = z.output<typeof fileContent>;

interface ReadSettings {
  readonly settings: ClientSettings;
  /** A warning about the file for the user; null if there is none. */
  readonly warning: string | null;
}

/** The path of the settings file. */
export function settingsFileOf(environment: Environment): string {
  const given = environment['XDG_CONFIG_HOME'];
  // The XDG specification says to ignore relative paths.
  const folder = given !== undefined && isAbsolute(given) ? given : join(homedir(), '.config');
  return join(folder, 'tablog', 'config.json');
}

/** Reads the settings. An empty variable counts as unset. Throws UserError with all problems. */
export async function readClientSettings(
  flags: ClientFlags,
  environment: Environment = process.env,
): Promise<ReadSettings> {
  const file = settingsFileOf(environment);
  const { content, problems, isOpenToOthers } = await readSettingsFile(file);
  const given: Partial<Record<Name, string>> = {};
  for (const name of ['url', 'token'] as const) {
    const sources = [
      [`--${name}`, flags[name]],
      [variables[name], environment[variables[name]] || undefined],
      [`${file}: ${name}`, content[name]],
    ] as const;
    const [source, value] = sources.find(([, candidate]) => candidate !== undefined) ?? [null, undefined];
    if (source === null) {
      const what = name === 'url' ? 'server' : 'token';
      problems.push(`No ${what} is set: give --${name}, set ${variables[name]}, or put "${name}" into ${file}.`);
      continue;
    }
    // Do not show the value: it may be a secret in the wrong place.
    const result = settings.shape[name].safeParse(value, { error: describeMisfit });
    if (result.success) given[name] = result.data;
    else problems.push(`${source}: ${result.error.issues[0]!.message}`);
  }
  if (problems.length > 0) throw new UserError(problems.join('\n'));
  const warning =
    content.token !== undefined && isOpenToOthers
      ? `Other users can read ${file}, which contains a token: chmod 600 ${file}`
      : null;
  return { settings: given as ClientSettings, warning };
}

interface SettingsFile {
  readonly content: FileContent;
  readonly problems: string[];
  readonly isOpenToOthers: boolean;
}

async function readSettingsFile(file: string): Promise<SettingsFile> {
  const unusable = (problem: string): SettingsFile => ({
    content: {},
    problems: [`${file}: ${problem}`],
    isOpenToOthers: false,
  });
  let text: string;
  let mode: number;
  try {
    [text, { mode }] = await Promise.all([readFile(file, 'utf8'), stat(file)]);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { content: {}, problems: [], isOpenToOthers: false }
      : unusable(message);
  }
  const value = parseJson(text);
  if (value === undefined) return unusable('is not JSON');
  const result = fileContent.safeParse(value, { error: describeMisfit });
  if (result.success) return { content: result.data, problems: [], isOpenToOthers: (mode & 0o077) !== 0 };
  const problems = result.error.issues.map((issue) => `${[file, ...issue.path].join(': ')}: ${issue.message}`);
  return { content: {}, problems, isOpenToOthers: false };
}

/**
 * Undefined if the text is not JSON. The parser's message is not used, because it would quote a part of the file,
 * perhaps of the token.
 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isServiceUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}
