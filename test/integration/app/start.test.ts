/** The start as a new user sees it: the output if it works, and if a setting prevents it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { newAccessToken } from '../../../src/storage/security/access-token.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/storage/embedded/embedded-postgres.ts';
import { Client } from '../../support/client.ts';
import { sleepUntil, startServer, type TestServer } from '../../support/server.ts';
import { runTablog, type TablogResult } from '../../support/tablog.ts';

const run = promisify(execFile);

/** Runs a command with mounts of its own, also for a user who is not root. */
const inMountNamespace = ['unshare', '--user', '--map-root-user', '--mount'];
const canMount = await run(inMountNamespace[0]!, [
  ...inMountNamespace.slice(1),
  'mount',
  '-t',
  'tmpfs',
  'none',
  tmpdir(),
]).then(
  () => true,
  () => false,
);
if (!canMount)
  process.stderr.write('The start on a read-only file system is not tested here: this user may not mount one.\n');

let folder: string;
let postgres: EmbeddedPostgres;
let taken: Server;
let takenPort: number;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-start-'));
  postgres = await startEmbeddedPostgres({ folder: join(folder, 'server'), log: () => undefined });
  await writeFile(join(folder, 'file'), '');
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  takenPort = (taken.address() as AddressInfo).port;
});

afterAll(async () => {
  taken?.close();
  await postgres?.stop();
  await rm(folder, { recursive: true, force: true });
});

function databaseUrl(change: (url: URL) => void = () => undefined): string {
  const url = new URL(postgres.url);
  change(url);
  return url.href;
}

/** Queries Postgres as its owner. */
async function administer(statement: string): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Expects that a start fails with exactly this message. */
async function problemsOf(environment: Readonly<Record<string, string>>): Promise<string[]> {
  return problemsIn(await runTablog(['serve'], settingsOf(environment)));
}

function settingsOf(environment: Readonly<Record<string, string>>): Record<string, string> {
  return {
    DATA_DIR: join(folder, 'data'),
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'warn',
    START_WAIT_MS: '0',
    ...environment,
  };
}

function problemsIn({ code, stdout, stderr }: TablogResult): string[] {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [first, ...problems] = stderr.trimEnd().split('\n');
  expect(first).toBe('The settings are not usable:');
  return problems;
}

describe('a start that fails names the setting in one sentence', () => {
  test('all ports in use are named', async () => {
    await using other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const environment = { DATABASE_URL: databaseUrl(), PORT: String(takenPort), METRICS_PORT: String(port) };
    expect(await problemsOf(environment)).toEqual([
      `PORT: port ${takenPort} of 127.0.0.1 is in use; stop the program that listens there, or set PORT to another port`,
      `METRICS_PORT: port ${port} of 127.0.0.1 is in use; stop the program that listens there, or set METRICS_PORT to another port`,
    ]);
  });

  test.each([
    [
      'foo.bar.invalid',
      'HOST: the name foo.bar.invalid cannot be resolved; use an address of this machine, such as 127.0.0.1',
    ],
    [
      '192.0.2.1',
      'HOST: 192.0.2.1 is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all of its addresses',
    ],
  ])('an unusable HOST=%s is explained', async (HOST, problem) => {
    expect(await problemsOf({ DATABASE_URL: databaseUrl(), HOST, METRICS_PORT: '0' })).toEqual([problem]);
  });

  test.each<[string, (url: URL) => void, string]>([
    [
      'a wrong password',
      (url) => {
        url.password = 'x';
      },
      'password authentication failed for user "tablog"; correct the user or the password in it',
    ],
    [
      'no password',
      (url) => {
        url.password = '';
      },
      'it asks for a password, and there is none in it',
    ],
    [
      'a user who is none',
      (url) => {
        url.username = 'x';
      },
      'password authentication failed for user "x"; correct the user or the password in it',
    ],
    [
      'a database that is none',
      (url) => {
        url.pathname = '/x';
      },
      'database "x" does not exist; make that database, or name another one',
    ],
    [
      'TLS',
      (url) => {
        url.search = 'sslmode=verify-full';
      },
      'The server does not support SSL connections',
    ],
  ])('DATABASE_URL with %s', async (_what, change, problem) => {
    expect(await problemsOf({ DATABASE_URL: databaseUrl(change) })).toEqual([
      `DATABASE_URL: Postgres cannot be used with it: ${problem}`,
    ]);
  });

  test('a DATABASE_URL that is no URL is named without its password', async () => {
    expect(await problemsOf({ DATABASE_URL: 'postgres://u:se#cret@h/d' })).toEqual([
      'DATABASE_URL: Postgres cannot be used with it: Invalid URL',
    ]);
  });

  test('a DATABASE_URL with a user without rights is named', async () => {
    await administer(`create role nobody login password 'n'`);
    const url = databaseUrl((to) => {
      [to.username, to.password] = ['nobody', 'n'];
    });
    const { code, stderr } = await runTablog(['teams', 'list'], { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^DATABASE_URL: its user lacks a right: permission denied .*; give it the right to create schemas\n$/,
    );
  });

  test.each([
    ['file', 'no'],
    ['file/below', 'no'],
    ['file', 'yes'],
  ])('DATA_DIR is %s, DATABASE_URL: %s', async (path, hasPostgres) => {
    const environment: Record<string, string> = hasPostgres === 'yes' ? { DATABASE_URL: databaseUrl() } : {};
    expect(await problemsOf({ ...environment, DATA_DIR: join(folder, path) })).toEqual([
      `DATA_DIR: ${join(folder, path, hasPostgres === 'yes' ? 'files' : 'postgres')}: ` +
        'a file stands where it, or a folder above it, must be; remove that, or name another folder',
    ]);
  });

  test.each(['/proc', '/proc/below/it'])(
    'a DATA_DIR that is %s, where no folder can be made, is named',
    async (path) => {
      expect(await problemsOf({ DATA_DIR: path })).toEqual([
        expect.stringMatching(/^DATA_DIR: \/proc\S*: .*; name another folder$/),
      ]);
    },
  );

  if (canMount) {
    test.each([
      ['empty', ':', 'postgres'],
      ['that of a database', 'mkdir -p postgres/cluster && touch postgres/cluster/password', 'postgres/server.log'],
    ])('a DATA_DIR on a read-only file system is named, %s', async (_what, fill, path) => {
      const mounted = await mkdtemp(join(folder, 'mounted-'));
      const script =
        'mount -t tmpfs none "$0" && (cd "$0" && eval "$1") && mount -o remount,ro "$0"' +
        // Runs as another user than root, so that the embedded Postgres needs no user of its own.
        ' && shift && exec unshare --user --map-user=1000 "$@"';
      const wrapper = [...inMountNamespace, 'sh', '-c', script, mounted, fill];
      const result = await runTablog(['serve'], settingsOf({ DATA_DIR: mounted }), [], 'ignore', wrapper);
      expect(problemsIn(result)).toEqual([
        `DATA_DIR: ${join(mounted, path)}: its file system is read-only; name another folder`,
      ]);
    });
  }
});

test('a start waits for a Postgres that cannot be reached, and says once why', async () => {
  const { code, stdout, stderr } = await runTablog(
    ['serve'],
    settingsOf({
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      START_WAIT_MS: '2000',
    }),
  );
  const reason = 'Postgres cannot be used: connect ECONNREFUSED 127.0.0.1:1. Start it, or correct DATABASE_URL.';
  expect({ code, stderr }).toEqual({ code: 1, stderr: `${reason}\n` });
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    expect.objectContaining({ msg: `the service cannot start yet, and keeps trying for 2 s: ${reason}` }),
  ]);
  expect(stdout).not.toContain('    at ');
});

describe('what is printed at the start', () => {
  /** The indented lines. */
  async function linesOf(server: TestServer): Promise<string> {
    await sleepUntil(() => server.output().includes('/tables\n'), 'the service says where it is');
    return server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .join('\n');
  }

  test('works as lines for the shell, whatever the name of the folder', async () => {
    const server = await startServer({
      folder: join(folder, `it's new`),
      databaseUrl: databaseUrl((url) => {
        url.pathname = '/postgres';
      }),
    });
    try {
      const { stdout } = await run('/bin/sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${await linesOf(server)}`]);
      const [link, , header, url] = stdout.split('\n');
      expect(link).toBe(`${server.url}/#token=${header!.replace('Authorization: Bearer ', '')}`);
      expect(url).toBe(`${server.url}/tables`);
      expect((await fetch(url!, { headers: { authorization: header!.replace('Authorization: ', '') } })).status).toBe(
        200,
      );
    } finally {
      await server.stop();
    }
  });

  test('shows no token where logs are collected, but names the file that holds it, which only its owner may read', async () => {
    await administer('create database first_start');
    const dataFolder = join(folder, 'first start');
    await mkdir(dataFolder);
    // An interrupted start may have left the file, with a mode that a person has set.
    await writeFile(join(dataFolder, 'token'), '', { mode: 0o644 });
    const server = await startServer({
      folder: dataFolder,
      databaseUrl: databaseUrl((url) => {
        url.pathname = '/first_start';
      }),
    });
    try {
      await linesOf(server);
      const token = (await readFile(join(dataFolder, 'token'), 'utf8')).trim();
      expect((await new Client(server.url, token).get('/tables')).status).toBe(200);
      expect(server.output()).not.toContain(token);
      expect(server.output()).toContain(
        `The token is in ${join(dataFolder, 'token')}, which only the user of this process can read.`,
      );
      expect((await stat(join(dataFolder, 'token'))).mode & 0o777).toBe(0o600);
    } finally {
      await server.stop();
    }
  });

  test('says how to create a token if an operator created the teams, and has a warning for each danger', async () => {
    await administer('create database by_hand');
    const url = databaseUrl((to) => {
      to.pathname = '/by_hand';
    });
    const environment = { DATABASE_URL: url, DATA_DIR: join(folder, 'by hand') };
    const team = (await runTablog(['teams', 'create', 'acme'], environment)).stdout.trim();
    const token = (await runTablog(['tokens', 'create', '--team', 'acme'], environment)).stdout.trim();
    await runTablog(['teams', 'create', 'other'], environment);
    // The file may hold the token of another database.
    await mkdir(environment.DATA_DIR);
    await writeFile(join(environment.DATA_DIR, 'token'), `${newAccessToken()}\n`);
    const server = await startServer({
      folder: environment.DATA_DIR,
      databaseUrl: url,
      environment: { PUBLIC_URL: '' },
    });
    try {
      expect(await linesOf(server)).toBe(
        `  TOKEN=$(npm run --silent tablog -- tokens create --team ${team})\n` +
          `  curl -H "Authorization: Bearer $TOKEN" ${server.url}/tables`,
      );
      expect(server.output()).toContain(
        `There are teams, but ${join(environment.DATA_DIR, 'token')} holds no token of any of them.`,
      );
      await sleepUntil(
        () => server.output().includes('LOG_BYTES_PER_DAY: is not set, and 2 teams have no limit in their plan'),
        'it warns of teams without quotas',
      );
      const logged = server
        .output()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line));
      expect(logged).toEqual([
        expect.objectContaining({ level: 40, msg: expect.stringMatching(/^PUBLIC_URL: is not set, /) }),
        expect.objectContaining({ level: 40, msg: expect.stringMatching(/^LOG_BYTES_PER_DAY: /) }),
      ]);
      expect((await new Client(server.url, token).get('/tables')).status).toBe(200);
    } finally {
      await server.stop();
    }
  });
});
