/** `tablog` as npm installs it: a link on the path, which runs with the Node of the system. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const { version, bin } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
const systemPath = '/usr/bin:/bin';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-bin-'));
  // A system with a Node that knows no TypeScript.
  await writeFile(join(folder, 'node'), '#!/bin/sh\necho v20.20.2\n', { mode: 0o755 });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('runs on the Node of the packages, even if the system has an older one', async () => {
  await symlink(join(root, bin.tablog), join(folder, 'tablog'));
  const { stdout } = await run(join(folder, 'tablog'), ['--version'], { env: { PATH: `${folder}:${systemPath}` } });
  expect(stdout).toBe(`${version}\n`);
});

test('says what to do if there is only an older Node', async () => {
  await mkdir(join(folder, 'bin'));
  await copyFile(join(root, bin.tablog), join(folder, 'bin', 'tablog'));
  const failed = run(join(folder, 'bin', 'tablog'), ['--version'], { env: { PATH: `${folder}:${systemPath}` } });
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^Tablog needs Node 24, and this is v20\.20\.2: run `npm ci` in \S+, which installs one for it\.\n$/,
    ),
  });
});
