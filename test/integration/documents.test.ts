/**
 * README.md, the tutorial and the how-to pages, followed as a new user would: each command runs in order, against one
 * service that is started as `npm start` starts it, and prints what the document says.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isFull } from '../scale.ts';
import { isCommand, stepsOf, type DocumentCommand } from '../support/documents/blocks.ts';
import { follow, withoutChance } from '../support/documents/follow.ts';
import { provideJq } from '../support/documents/jq.ts';
import { startServer, type TestServer } from '../support/server.ts';

const root = join(import.meta.dirname, '..', '..');

/** Lines that do not run here, each with the test that runs it. */
const runElsewhere = new Map([
  ['npm ci && npm start', '.ci/run installs; test/integration/app/start.test.ts starts'],
  ['npm ci && npm test', '.ci/run'],
  [
    'npm pack ./clients/typescript && npm install --no-save ./tablog-client-0.1.0.tgz',
    'test/integration/clients/client-packages.test.ts',
  ],
]);

let folder: string;
let server: TestServer;

/** A folder that looks like a clone after `npm ci && npm start`. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-documents-'));
  await mkdir(join(folder, 'node_modules', 'tablog-client'), { recursive: true });
  for (const path of ['bin', 'src', 'package.json', 'node_modules/.bin', 'node_modules/vega-datasets'])
    await symlink(join(root, path), join(folder, path));
  // The same files as in the package, without a build.
  await writeFile(join(folder, 'node_modules', 'tablog-client', 'package.json'), '{"exports":"./index.js"}');
  await writeFile(
    join(folder, 'node_modules', 'tablog-client', 'index.js'),
    `export * from ${JSON.stringify(join(root, 'clients', 'typescript', 'src', 'index.ts'))};\n`,
  );
  await provideJq(join(folder, 'tools'));
  server = await startServer({ folder: join(folder, 'data') });
});

afterAll(async () => {
  await server?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** The reference has many commands of operators, each of which takes seconds. */
const atLength = isFull ? ['docs/reference/command-line.md'] : [];
const howTos = (await readdir(join(root, 'docs', 'how-to'))).map((name) => `docs/how-to/${name}`);

test.each([
  'README.md',
  'docs/tutorial/first-table.md',
  'docs/reference/tables-columns-types.md',
  ...howTos,
  ...atLength,
])('the commands in %s work as written, and print the shown output', async (path) => {
  const document = (await readFile(join(root, path), 'utf8')).replaceAll('http://127.0.0.1:8080', server.url);
  const steps = stepsOf(document).map((step) => (isCommand(step) ? withoutElsewhere(step) : step));
  expect(steps.filter(isCommand).length).toBeGreaterThan(0);
  const followed = await follow(steps, folder, environment());
  const differences = followed.filter(({ output, printed, hasFailed }) =>
    output === null ? hasFailed : withoutChance(printed) !== withoutChance(output),
  );
  expect(differences).toEqual([]);
});

function withoutElsewhere(command: DocumentCommand): DocumentCommand {
  const script = command.script.split('\n').filter((line) => !runElsewhere.has(line));
  return { ...command, script: script.join('\n') };
}

/** The environment of a shell without settings for other services. */
function environment(): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(TABLOG_|KAFKA_|DATABASE_URL$)/.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${join(folder, 'tools')}:${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
    XDG_CONFIG_HOME: join(folder, 'no-settings'),
  };
}
