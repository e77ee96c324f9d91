import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readClientSettings, settingsFileOf } from '../../../../src/cli/client/client-settings.ts';

let home: string;
let file: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'tablog-settings-'));
  file = settingsFileOf({ XDG_CONFIG_HOME: home });
  await mkdir(dirname(file));
});

afterEach(() => rm(home, { recursive: true }));

const write = (content: unknown, mode = 0o600): Promise<void> =>
  writeFile(file, typeof content === 'string' ? content : JSON.stringify(content), { mode });
const read = (flags: object = {}, environment: object = {}): ReturnType<typeof readClientSettings> =>
  readClientSettings(flags, { XDG_CONFIG_HOME: home, ...environment });

/** What is wrong, with the file as FILE. */
async function problemsOf(flags: object = {}, environment: object = {}): Promise<string[]> {
  const problems = await read(flags, environment).then(
    () => '',
    (error: Error) => error.message,
  );
  return problems.replaceAll(file, 'FILE').split('\n');
}

const url = 'https://tables.example.org';

describe('where settings come from', () => {
  test.each([
    [{}, {}, 'file'],
    [{}, { TABLOG_URL: `${url}/environment`, TABLOG_TOKEN: 'environment' }, 'environment'],
    [{}, { TABLOG_URL: '', TABLOG_TOKEN: '' }, 'file'],
    [{ url: `${url}/flag`, token: 'flag' }, { TABLOG_URL: `${url}/environment`, TABLOG_TOKEN: 'environment' }, 'flag'],
  ])('flags %j and environment %j: the setting comes from the %s', async (flags, environment, source) => {
    await write({ url: `${url}/file`, token: 'file' });
    expect(await read(flags, environment)).toEqual({
      settings: { url: `${url}/${source}`, token: source },
      warning: null,
    });
  });

  test('each setting comes from its own source', async () => {
    await write({ token: 'file' });
    expect((await read({ url: 'http://127.0.0.1:8080//' })).settings).toEqual({
      url: 'http://127.0.0.1:8080',
      token: 'file',
    });
  });

  test.each([
    [{ XDG_CONFIG_HOME: '/x' }, '/x/tablog/config.json'],
    [{ XDG_CONFIG_HOME: 'x' }, join(homedir(), '.config/tablog/config.json')],
    [{}, join(homedir(), '.config/tablog/config.json')],
  ])('with %j the file is %s', (environment, path) => {
    expect(settingsFileOf(environment)).toBe(path);
  });
});

describe('all problems are named at once, without possible secrets', () => {
  const noUrl = 'No server is set: give --url, set TABLOG_URL, or put "url" into FILE.';
  const noToken = 'No token is set: give --token, set TABLOG_TOKEN, or put "token" into FILE.';
  const badUrl = 'must be a URL that begins with http:// or https:// and has no user, query or fragment';
  const badToken = 'must be printable ASCII characters without blanks';

  test.each<readonly [object, object, unknown, readonly string[]]>([
    [{}, {}, null, [noUrl, noToken]],
    [{ url }, {}, null, [noToken]],
    [{ url: 'secret' }, { TABLOG_TOKEN: 'a secret' }, null, [`--url: ${badUrl}`, `TABLOG_TOKEN: ${badToken}`]],
    [{ url: 'https://user:secret@h/' }, { TABLOG_TOKEN: 't' }, null, [`--url: ${badUrl}`]],
    [{}, {}, { url: 'ftp://h', token: '' }, [`FILE: url: ${badUrl}`, `FILE: token: ${badToken}`]],
    [{ url, token: 't' }, {}, '{"token":"secret"', ['FILE: is not JSON']],
    [{ url, token: 't' }, {}, { url: 7 }, ['FILE: url: must be a string, not a number']],
    [{ url, token: 't' }, {}, { uri: 'x' }, ['FILE: there is no property "uri"']],
  ])('flags %j, environment %j, file %j', async (flags, environment, content, problems) => {
    if (content !== null) await write(content);
    expect(await problemsOf(flags, environment)).toEqual(problems);
  });
});

describe('the command warns of a file with a token that others can read', () => {
  test.each([
    [0o600, { url, token: 't' }, false],
    [0o640, { url, token: 't' }, true],
    [0o604, { url, token: 't' }, true],
    [0o644, { url }, false],
  ])('the command warns of a file of mode %o that holds %j: %j', async (mode, content, isWarned) => {
    await write(content);
    await chmod(file, mode);
    const { warning } = await read({ token: 't' });
    expect(warning).toBe(isWarned ? `Other users can read ${file}, which contains a token: chmod 600 ${file}` : null);
  });
});
