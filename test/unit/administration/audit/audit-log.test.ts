/** The audit log as a file: lines of several processes, its rotation, and a disk that takes none. */
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { pino, type Logger } from 'pino';
import { openAuditLog, recordAction, type AuditLog } from '../../../../src/administration/audit/audit-log.ts';

let folder: string;
let file: string;
let logged: Record<string, unknown>[];
let opened: AuditLog[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-audit-'));
  file = join(folder, 'audit.log');
  logged = [];
  opened = [];
});

afterEach(async () => {
  for (const audit of opened) audit.close();
  await rm(folder, { recursive: true, force: true });
});

const logger = (level = 'info'): Logger =>
  pino({ level }, { write: (line: string) => void logged.push(JSON.parse(line)) });

function open(path: string | undefined = file): AuditLog {
  const audit = openAuditLog(path, logger());
  opened.push(audit);
  return audit;
}

const entry = (name: string) => ({ action: 'team.create', result: 'done', teamId: 't', name }) as const;

async function namesIn(path = file): Promise<string[]> {
  return (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).name);
}

test('a line is appended to the file when it is written', async () => {
  await writeFile(file, '{"name":"before"}\n');
  open().write({ ...entry('two\nlines'), address: undefined });
  const [, line, ...rest] = (await readFile(file, 'utf8')).split('\n');
  expect(rest).toEqual(['']);
  expect(JSON.parse(line!)).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    action: 'team.create',
    result: 'done',
    teamId: 't',
    name: 'two\nlines',
  });
  expect(logged).toEqual([]);
});

test('only the owner can read a new file', async () => {
  open();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('several processes write to one file', async () => {
  const [one, other] = [open(), open()];
  for (const name of ['a', 'b', 'c']) for (const audit of [one, other]) audit.write(entry(name));
  await appendFile(file, '{"name":"d"}\n');
  one.write(entry('e'));
  expect(await namesIn()).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd', 'e']);
});

test('after a rotation lines go to the new file', async () => {
  const [one, other] = [open(), open()];
  one.write(entry('a'));
  await rename(file, `${file}.1`);
  // The first makes the file anew, the second finds it.
  for (const name of ['b', 'c']) for (const audit of [one, other]) audit.write(entry(name));
  expect([await namesIn(`${file}.1`), await namesIn()]).toEqual([['a'], ['b', 'b', 'c', 'c']]);
  await rename(file, `${file}.2`);
  await writeFile(file, '');
  one.write(entry('d'));
  expect(await namesIn()).toEqual(['d']);
  expect(logged).toEqual([]);
});

test('while the file cannot be opened again, lines go to the log of the process', async () => {
  const below = join(folder, 'below');
  await mkdir(below);
  const audit = open(join(below, 'audit.log'));
  await rename(below, `${below}.1`);
  audit.write(entry('a'));
  expect(logged).toMatchObject([
    { level: 50, msg: 'AUDIT_LOG_FILE: a line cannot be written', err: { code: 'ENOENT' }, audit: entry('a') },
  ]);
  await mkdir(below);
  audit.write(entry('b'));
  expect(await namesIn(join(below, 'audit.log'))).toEqual(['b']);
});

test('while the disk is full, lines go to the log of the process', () => {
  const audit = open('/dev/full');
  audit.write(entry('a'));
  expect(logged).toMatchObject([
    { level: 50, msg: 'AUDIT_LOG_FILE: a line cannot be written', err: { code: 'ENOSPC' }, audit: entry('a') },
  ]);
});

test('without a file, lines go to the log of the process', () => {
  openAuditLog(undefined, logger()).write(entry('a'));
  expect(logged).toMatchObject([{ level: 30, audit: entry('a') }]);
});

test.each([
  [null, 'done'],
  [new Error('no'), 'of Error'],
])('an action has one line, whatever its result: %s is %s', async (failure, result) => {
  const audit = open();
  const recorded = recordAction(
    audit,
    {
      action: 'team.create',
      who: { user: 'ada' },
      details: { name: 'a' },
      nameOf: (error) => `of ${(error as Error).name}`,
    },
    async (details) => {
      details['teamId'] = 't';
      if (failure !== null) throw failure;
      return 'value';
    },
  );
  if (failure === null) expect(await recorded).toBe('value');
  else await expect(recorded).rejects.toBe(failure);
  const lines = (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toEqual([
    { time: expect.any(String), action: 'team.create', result, user: 'ada', name: 'a', teamId: 't' },
  ]);
});
