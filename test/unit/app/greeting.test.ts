import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { describeGreeting } from '../../../src/app/greeting.ts';

const run = promisify(execFile);
const options = {
  host: '127.0.0.1',
  port: 8080,
  tokenFile: '/data/token',
  newToken: null,
  inTerminal: true,
  teamWithoutToken: null,
};

/** What the shell makes of the indented lines: the arguments of `curl`, one a line. `npm` writes its arguments. */
async function copyIntoShell(greeting: string): Promise<string[]> {
  const lines = greeting
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .join('\n');
  const commands = `curl() { printf '%s\\n' "$@"; }\nnpm() { echo "$*"; }\n${lines}`;
  const { stdout } = await run('/bin/sh', ['-c', commands]);
  return stdout.trimEnd().split('\n');
}

test('a later start prints the address of the service, and commands to paste into a shell', () => {
  expect(describeGreeting(options)).toBe(
    '\nTablog is ready at http://127.0.0.1:8080. The first command prints the link to the console, the second one lists ' +
      'your tables:\n\n' +
      '  echo "http://127.0.0.1:8080/#token=$(cat /data/token)"\n' +
      '  curl -H "Authorization: Bearer $(cat /data/token)" http://127.0.0.1:8080/tables\n\n',
  );
});

test('the first start in a terminal prints a link that opens the console', () => {
  expect(describeGreeting({ ...options, newToken: 'tablog_abc' })).toContain(
    '\n  http://127.0.0.1:8080/#token=tablog_abc\n',
  );
});

test('the first start elsewhere names the file that holds the token', () => {
  const greeting = describeGreeting({ ...options, newToken: 'tablog_abc', inTerminal: false });
  expect(greeting).not.toContain('tablog_abc');
  expect(greeting).toContain('  echo "http://127.0.0.1:8080/#token=$(cat /data/token)"\n');
  expect(greeting).toContain('\nThe token is in /data/token, which only the user of this process can read.\n');
});

test.each(['plain', 'with blanks', `it's "mine"`, '$HOME & `more`', '-v'])(
  'the commands work for a folder named %j',
  async (name) => {
    const outer = await mkdtemp(join(tmpdir(), 'tablog-greeting-'));
    try {
      await mkdir(join(outer, name));
      await writeFile(join(outer, name, 'token'), 'secret\n');
      const greeting = describeGreeting({ ...options, tokenFile: join(outer, name, 'token') });
      expect(await copyIntoShell(greeting)).toEqual([
        'http://127.0.0.1:8080/#token=secret',
        '-H',
        'Authorization: Bearer secret',
        'http://127.0.0.1:8080/tables',
      ]);
    } finally {
      await rm(outer, { recursive: true });
    }
  },
);

test('a relative path is printed as an absolute one, because the shell may be in another folder', () => {
  expect(describeGreeting({ ...options, tokenFile: 'data/token' })).toContain(`$(cat ${process.cwd()}/data/token)`);
});

test('if the file has no valid token, the greeting says so, and how to create one', async () => {
  const greeting = describeGreeting({ ...options, teamWithoutToken: '0190' });
  expect(greeting).toContain('There are teams, but /data/token holds no token of any of them.');
  const made = 'run --silent tablog -- tokens create --team 0190';
  expect(await copyIntoShell(greeting)).toEqual([
    '-H',
    `Authorization: Bearer ${made}`,
    'http://127.0.0.1:8080/tables',
  ]);
});

test.each([
  ['0.0.0.0', 'http://127.0.0.1:8080'],
  ['::', 'http://[::1]:8080'],
  ['::1', 'http://[::1]:8080'],
  ['localhost', 'http://localhost:8080'],
  ['10.0.0.7', 'http://10.0.0.7:8080'],
])('a service that listens on %s is reached at %s', async (host, url) => {
  const greeting = describeGreeting({ ...options, host, teamWithoutToken: '0190' });
  expect(greeting).toContain(`Tablog is ready at ${url}. `);
  expect((await copyIntoShell(greeting)).at(-1)).toBe(`${url}/tables`);
});
