/** Teams, plans, keys and tokens from the command line, while no service runs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts';
import { isPostgresRunning, useDataFolder } from '../../support/data-folder.ts';
import { runTablog } from '../../support/tablog.ts';

const { folder, tablog, output } = useDataFolder();

const tokenPattern = /^tablog_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/;
const uuidPattern = /^[0-9a-f-]{36}$/;
const momentPattern = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** A moment as tables show it. */
function toMinute(moment: string): string {
  return `${moment.slice(0, 16).replace('T', ' ')}Z`;
}

describe('without a running service', () => {
  test("an empty log has nothing to verify, and the message says so in a user's words", async () => {
    expect(await tablog('verify')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'There is nothing to verify: this version of the service has never run on this database ' +
        '(see DATA_DIR and DATABASE_URL). Start it once, or have `tablog replay` make the tables from the log.\n',
    });
  });

  test.each(['--version', '-V'])('%s prints the version', async (flag) => {
    const { version } = JSON.parse(await readFile(join(import.meta.dirname, '..', '..', '..', 'package.json'), 'utf8'));
    expect(await tablog(flag)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  test('a team and its tokens are created, listed and revoked, and Postgres runs only during each command', async () => {
    expect(await output('teams', 'create', 'acme')).toMatch(uuidPattern);
    expect(await isPostgresRunning(folder())).toBe(false);

    const created = await tablog('tokens', 'create', '--team', 'acme', '--name', 'laptop');
    expect(created.stdout.trimEnd()).toMatch(tokenPattern);
    expect(created.stderr).toMatch(/^This is the only time that the token is shown\. Its ID is \S+\.\n$/);

    const [token] = JSON.parse(await output('tokens', 'list', '--team', 'acme', '--json'));
    expect(token).toEqual({
      id: expect.stringMatching(uuidPattern),
      name: 'laptop',
      createdAt: momentPattern,
      endsIn: created.stdout.trimEnd().slice(-6),
      revoked: false,
      expiresAt: null,
      readOnly: false,
      appID: null,
      lastUsedAt: null,
    });
    const heading = 'ID                                    NAME    ENDS IN  CREATED            STATE';
    expect(await output('tokens', 'list', '--team', 'acme')).toBe(
      `${heading}   ACCESS          APP  EXPIRES  LAST USED\n${token.id}  laptop  ${token.endsIn}   ${toMinute(token.createdAt)}  active  read and write  all  never    never`,
    );
    const revoked = JSON.parse(await output('tokens', 'revoke', token.id, '--team', 'acme', '--json'));
    expect(revoked).toEqual({ id: token.id, name: 'laptop', revoked: true, inLog: true });
    expect(JSON.parse(await output('tokens', 'list', '--team', 'acme', '--json'))).toEqual([
      { ...token, revoked: true },
    ]);
    expect(await output('tokens', 'list', '--team', 'acme')).toMatch(/ laptop .* revoked {2}read and write /);
  });

  test('a token is limited to reading, to an app and to a time', async () => {
    const created = JSON.parse(
      await output(
        'tokens',
        'create',
        '--team',
        'acme',
        '--name',
        'report',
        '--read-only',
        '--app',
        'app 1',
        '--expires',
        '2999-01-31',
        '--json',
      ),
    );
    const limits = { expiresAt: '2999-01-31T00:00:00.000Z', readOnly: true, appID: 'app 1' };
    expect(created).toEqual({
      id: expect.stringMatching(uuidPattern),
      name: 'report',
      token: expect.stringMatching(tokenPattern),
      ...limits,
    });
    const listed = JSON.parse(await output('tokens', 'list', '--team', 'acme', '--json'));
    expect(listed).toContainEqual({
      id: created.id,
      name: 'report',
      createdAt: momentPattern,
      endsIn: created.token.slice(-6),
      revoked: false,
      lastUsedAt: null,
      ...limits,
    });
    const lines = (await output('tokens', 'list', '--team', 'acme')).split('\n');
    expect(lines).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^${created.id}  report  ${created.token.slice(-6)}   \\S+ \\S+Z  active   read            app 1  2999-01-31 00:00Z  never$`,
        ),
      ),
    );
  });
});

describe('while the Postgres of the data folder runs already', () => {
  let postgres: EmbeddedPostgres;

  // All commands share it, because starting it for each command would take most of the time.
  beforeAll(async () => {
    postgres = await startEmbeddedPostgres({ folder: join(folder(), 'postgres'), log: () => undefined });
  });

  afterAll(async () => {
    await postgres.stop();
  });

  test('a token of an operator is created, listed and revoked', async () => {
    const created = await tablog('tokens', 'create', '--operator', '--name', 'console');
    expect(created.stdout.trimEnd()).toMatch(tokenPattern);
    const made = JSON.parse(await output('tokens', 'create', '--operator', '--expires', '2999-01-31', '--json'));
    const expiresAt = '2999-01-31T00:00:00.000Z';
    // A token without a name gets one.
    const { name } = made;
    expect(name).toMatch(
      new RegExp(`^made \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ, ends in ${made.token.slice(-6)}$`),
    );
    expect(made).toEqual({
      id: expect.stringMatching(uuidPattern),
      name,
      token: expect.stringMatching(tokenPattern),
      expiresAt,
    });
    const [first, second] = JSON.parse(await output('tokens', 'list', '--operator', '--json'));
    expect(first).toEqual({
      id: expect.stringMatching(uuidPattern),
      name: 'console',
      createdAt: momentPattern,
      endsIn: expect.stringMatching(/^[0-9a-f]{6}$/),
      revoked: false,
      expiresAt: null,
      lastUsedAt: null,
    });
    expect(second).toEqual({
      id: made.id,
      name,
      createdAt: momentPattern,
      endsIn: made.token.slice(-6),
      revoked: false,
      expiresAt,
      lastUsedAt: null,
    });
    expect(JSON.parse(await output('tokens', 'revoke', made.id, '--operator', '--json'))).toEqual({
      id: made.id,
      name,
      revoked: true,
      inLog: true,
    });
    const lines = (await output('tokens', 'list', '--operator')).split('\n');
    const width = made.name.length;
    expect(lines[0]).toBe(
      `ID                                    ${'NAME'.padEnd(width)}  ENDS IN  CREATED            STATE    EXPIRES            LAST USED`,
    );
    expect(lines).toContain(
      `${first.id}  ${'console'.padEnd(width)}  ${first.endsIn}   ${toMinute(first.createdAt)}  active   never              never`,
    );
    expect(lines).toContain(
      `${made.id}  ${made.name}  ${second.endsIn}   ${toMinute(second.createdAt)}  revoked  2999-01-31 00:00Z  never`,
    );
  });

  test('the keys that signatures are made with are listed, rotated and removed', async () => {
    // The first start of the service creates the first key, unless there is one.
    expect(await output('keys', 'list')).toBe('ID  STATE');
    expect(await tablog('keys', 'rotate')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Key 1 is created and signs from now on.\n',
    });
    expect(await tablog('keys', 'rotate')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Key 2 is created. It signs in a minute, when all running processes know it.\n',
    });
    expect(await output('keys', 'list')).toBe('ID  STATE\n1   current\n2   next');
    expect(JSON.parse(await output('keys', 'rotate', '--json'))).toEqual({ id: 3, state: 'next' });
    expect(JSON.parse(await output('keys', 'list', '--json'))).toEqual([
      { id: 1, state: 'current' },
      { id: 2, state: 'next' },
      { id: 3, state: 'next' },
    ]);
    expect(await tablog('keys', 'remove', '2')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'Key 2 is removed. Within half a minute all running processes refuse its signatures.\n',
    });
    expect(JSON.parse(await output('keys', 'remove', '3', '--json'))).toEqual({ id: 3, removed: true });
    expect(await tablog('keys', 'remove', '1')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'Key 1 is the signing key. Create another with `tablog keys rotate`, and remove this one once the new key signs.\n',
    });
    expect(await output('keys', 'list')).toBe('ID  STATE\n1   current');
  });

  test('the list of teams and the command for one team show suspension and plan', async () => {
    const [team] = JSON.parse(await output('teams', 'list', '--json'));
    expect(team).toEqual({
      id: expect.stringMatching(uuidPattern),
      name: 'acme',
      suspended: false,
      rows: 0,
      rowsMax: null,
      uploadBytes: 0,
      uploadBytesMax: null,
    });
    expect(JSON.parse(await output('plans', 'suspend', 'acme', '--json'))).toEqual({ ...team, suspended: true });
    expect(JSON.parse(await output('plans', 'set', team.id, '--rows', '12', '--json'))).toEqual({
      ...team,
      suspended: true,
      rowsMax: 12,
    });
    const shown = `ID                                    NAME  STATE      ROWS  ROWS AT MOST  UPLOAD BYTES  UPLOAD BYTES AT MOST
${team.id}  acme  suspended  0     12            0             unlimited`;
    expect(await output('teams', 'list')).toBe(shown);
    expect(await output('plans', 'show', 'acme')).toBe(`${team.id}  acme  suspended
QUOTA                   USED  AT MOST       SET BY
rows                    0     12            plan
tables                  0     10000         TABLES_MAX
stashes                 0     10000         STASHES_MAX
open bodies             0     1000          BODIES_OPEN_MAX
open uploads            0     1000          UPLOADS_OPEN_MAX
bytes of open uploads   0     107374182400  UPLOADS_OPEN_BYTES_MAX
bytes of files          0     unlimited
bytes of the log today  0     unlimited`);
    expect((await tablog('plans', 'resume', team.id.toUpperCase())).stderr).toBe('The team "acme" is active again.\n');
  });

  test('a command changes only the named limits of a plan', async () => {
    const set = async (...limits: readonly string[]): Promise<string> =>
      (await tablog('plans', 'set', 'acme', ...limits)).stderr;
    expect(await set('--upload-bytes', '10GiB')).toBe(
      'The team "acme" may have 12 rows and 10737418240 bytes of files.\n',
    );
    expect(await set('--rows', '0')).toBe('The team "acme" may have 0 rows and 10737418240 bytes of files.\n');
    expect(JSON.parse(await output('plans', 'show', 'acme', '--json'))).toMatchObject({
      rowsMax: 0,
      uploadBytesMax: 10_737_418_240,
    });
    expect(await set('--rows', 'unlimited', '--upload-bytes', 'unlimited')).toBe(
      'The team "acme" may have unlimited rows and unlimited bytes of files.\n',
    );
    expect(
      await set(
        '--tables',
        '5',
        '--stashes',
        '4',
        '--open-bodies',
        '3',
        '--open-uploads',
        '2',
        '--open-upload-bytes',
        '1MB',
      ),
    ).toBe(
      'The team "acme" may have unlimited rows, 5 tables, 4 stashes, 3 open bodies, 2 open uploads, 1000000 bytes of open uploads ' +
        'and unlimited bytes of files.\n',
    );
    expect(
      await set(
        '--tables',
        '6',
        '--stashes',
        'default',
        '--open-bodies',
        'default',
        '--open-uploads',
        'default',
        '--open-upload-bytes',
        'default',
      ),
    ).toBe('The team "acme" may have unlimited rows, 6 tables and unlimited bytes of files.\n');
    expect(await set('--tables', 'default', '--log-bytes-per-day', '10GB')).toBe(
      'The team "acme" may have unlimited rows, unlimited bytes of files and 10000000000 bytes of the log today.\n',
    );
    expect(await set('--tables', '6', '--log-bytes-per-day', 'default')).toBe(
      'The team "acme" may have unlimited rows, 6 tables and unlimited bytes of files.\n',
    );
    expect(JSON.parse(await output('plans', 'show', 'acme', '--json')).quotas).toMatchObject({
      rows: { used: 0, max: null, setBy: null },
      tables: { used: 0, max: 6, setBy: 'plan' },
      stashes: { used: 0, max: 10_000, setBy: 'STASHES_MAX' },
      logBytesPerDay: { used: 0, max: null, setBy: null },
    });
  });

  const unknown = '01900000-0000-7000-8000-000000000000';
  test.each([
    [['plans', 'suspend', 'nobody'], 'There is no team "nobody"; see `tablog teams list`.\n'],
    [['plans', 'show', unknown], `There is no team "${unknown}"`],
    [['tokens', 'revoke', unknown, '--team', 'acme'], `The team "acme" has no token with the ID "${unknown}".\n`],
    [['tokens', 'revoke', 'x', '--team', 'acme'], 'The team "acme" has no token with the ID "x".\n'],
    [['tokens', 'create'], `error: give either '--team <team>' or '--operator'`],
    [['tokens', 'create', '--team', 'acme', '--expires', '2000-01-31'], 'expires: that time has passed already\n'],
    [['tokens', 'create', '--operator', '--expires', '2000-01-31'], 'expires: that time has passed already\n'],
    [['tokens', 'create', '--operator', '--name', ' '], 'name: must not be blank\n'],
    [
      ['tokens', 'create', '--operator', '--team', 'acme'],
      "error: option '--operator' cannot be used with option '--team <team>'",
    ],
    [
      ['tokens', 'create', '--operator', '--read-only'],
      "error: option '--read-only' cannot be used with option '--operator'",
    ],
    [['tokens', 'revoke', unknown, '--operator'], `There is no operator token with the ID "${unknown}".\n`],
    [['tokens', 'create', '--team', 'acme', '--expires', 'soon'], 'It must be a duration like 90m, 12h or 30d'],
    [['tokens', 'create', '--team', 'acme', '--app', ''], 'appId: must not be empty\n'],
    [['teams', 'create', ' '], 'name: must not be blank\n'],
    [['teams', 'create', 'a'.repeat(257)], 'name: must have at most 256 bytes\n'],
    [
      ['plans', 'set', 'acme'],
      'No quota is given. Give at least one of --rows, --tables, --stashes, --open-bodies, --open-uploads, --open-upload-bytes, --upload-bytes, --log-bytes-per-day.\n',
    ],
    [['plans', 'set', 'acme', '--rows', '-1'], 'It must be a whole number, or "unlimited".'],
    [['plans', 'set', 'acme', '--rows', '1e3'], 'It must be a whole number, or "unlimited".'],
    [['plans', 'set', 'acme', '--tables', 'unlimited'], 'It must be a whole number, or "default".'],
    [
      ['plans', 'set', 'acme', '--open-upload-bytes', 'x'],
      'It must be a size like 1000000, 500MB or 10GiB, or "default".',
    ],
    [
      ['plans', 'set', 'acme', '--upload-bytes', '1.5GB'],
      'It must be a size like 1000000, 500MB or 10GiB, or "unlimited".',
    ],
    [['keys', 'remove', '7'], 'There is no key 7; see `tablog keys list`.\n'],
    [['keys', 'remove', '256'], 'It must be a whole number from 1 to 255.'],
    [['verify', '--batch-events', '0'], 'It must be a whole number of at least 1.'],
    [['tidy'], `error: unknown command 'tidy'`],
    [['tokens', 'list', '--taem', 'acme'], `error: unknown option '--taem'\n(Did you mean --team?)`],
    [['import', '--tabel', 'people', 'people.csv'], `error: unknown option '--tabel'\n(Did you mean --table?)`],
    [['import', 'people.csv'], `error: required option '--table <name|id>' not specified`],
  ])('the arguments %j are answered with an error in a sentence', async (args, message) => {
    const { code, stdout, stderr } = await tablog(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('    at ');
  });

  test('a name that two teams have is refused', async () => {
    const first = await output('teams', 'create', 'twin');
    const refusal = {
      code: 1,
      stdout: '',
      stderr: `There is a team "twin" already (${first}). Add --another to create another team of that name.\n`,
    };
    for (const args of [[], ['--json']]) expect(await tablog('teams', 'create', 'twin', ...args)).toEqual(refusal);
    expect(
      JSON.parse(await output('teams', 'list', '--json')).filter(({ name }: { name: string }) => name === 'twin'),
    ).toHaveLength(1);
    const made = await tablog('teams', 'create', 'twin', '--another');
    expect(made).toMatchObject({
      code: 0,
      stderr: `There is another team "twin" already (${first}): use the IDs of both from now on.\n`,
    });
    const second = made.stdout.trim();
    for (const args of [
      ['plans', 'suspend', 'twin'],
      ['tokens', 'create', '--team', 'twin'],
    ]) {
      expect(await tablog(...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `2 teams are named "twin"; give the ID of one: ${first}, ${second}\n`,
      });
    }
    expect((await tablog('plans', 'suspend', second)).code).toBe(0);
  });

  test('a command names settings that it cannot use', async () => {
    const refused = await runTablog(['teams', 'list'], { DATA_DIR: folder(), PORT: 'x' });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The settings are not usable:\nPORT: must be a whole number from 0 to 65535\n',
    });
  });

  test('a command names a Postgres that it cannot reach', async () => {
    const refused = await runTablog(['teams', 'list'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Postgres cannot be used: connect ECONNREFUSED 127.0.0.1:1. Start it, or correct DATABASE_URL.\n',
    });
  });
});
