/** The packages of clients/ as their users install them: packed, in an empty project. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startServer, type TestServer } from '../../support/server.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
/** The dependencies of the client, packed from the installed packages, because tests do not use a registry. */
const dependencies = ['openapi-fetch', 'openapi-typescript-helpers', 'p-retry', 'is-network-error'];

let project: string;
let server: TestServer;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'tablog-client-'));
  server = await startServer();
  const folders = [
    join(root, 'clients', 'typescript'),
    join(root, 'clients', 'command-line'),
    ...dependencies.map((name) => join(root, 'node_modules', name)),
  ];
  for (const folder of folders) {
    // Their scripts are only for their developers.
    await run(
      'npm',
      [
        'pack',
        '--silent',
        '--pack-destination',
        project,
        ...(folder.includes('node_modules') ? ['--ignore-scripts'] : []),
      ],
      { cwd: folder },
    );
  }
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  const packed = (await readdir(project)).filter((name) => name.endsWith('.tgz')).map((name) => `./${name}`);
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packed], { cwd: project });
});

afterAll(async () => {
  await server?.stop();
  if (project) await rm(project, { recursive: true, force: true });
});

async function sizeOf(name: string): Promise<number> {
  const packed = (await readdir(project)).find((file) => file.startsWith(name) && file.endsWith('.tgz'));
  return (await stat(join(project, packed!))).size;
}

const program = `import { Tablog, type Version } from 'tablog-client';

interface Car { name?: string; horsepower?: number }

const tablog = new Tablog({ url: process.argv[2]!, token: process.argv[3]! });
const { table } = await tablog.createTable<Car>({ name: 'cars', rows: [{ name: 'fiat 128', horsepower: 49 }] });
await table.load([{ name: 'vw rabbit', horsepower: 71 }]);
const [first] = await table.rows({ sort: ['-horsepower'] }).toArray();
const { version: ifMatch } = await table.row(first!.$rowID);
const version: Version = await table.patch(first!.$rowID, { horsepower: null }, { ifMatch });
console.log(first!.name, typeof version);
`;
const mistakes = [
  `await table.patch(first!.$rowID, { horsepower: 'many' });`,
  `await table.patch(first!.$rowID, {}, { ifMatch: '"7"' });`,
  `table.rows({ sort: ['speed'] });`,
  `first!.speed;`,
];
const compile = (file: string): Promise<unknown> =>
  run(
    process.execPath,
    [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '--strict',
      '--target',
      'es2023',
      '--lib',
      'es2023,dom,dom.iterable,dom.asynciterable',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--typeRoots',
      join(root, 'node_modules', '@types'),
      file,
    ],
    { cwd: project },
  );

test('the packed client is small, has strict types, and runs', async () => {
  expect(await sizeOf('tablog-client')).toBeLessThan(100_000);
  await writeFile(join(project, 'program.ts'), program);
  await compile('program.ts');
  const { stdout } = await run(process.execPath, ['program.js', server.url, await server.token()], { cwd: project });
  expect(stdout).toBe('vw rabbit string\n');
});

test('the compiler finds mistakes in a program', async () => {
  await writeFile(join(project, 'mistaken.ts'), `${program}\n${mistakes.join('\n')}\n`);
  const lines = program.split('\n').length;
  const { stdout } = await compile('mistaken.ts').then(
    () => ({ stdout: '' }),
    (error: { readonly stdout: string }) => error,
  );
  expect([...stdout.matchAll(/^mistaken\.ts\((\d+),/gm)].map(([, line]) => Number(line) - lines)).toEqual([1, 2, 3, 4]);
});

test('the packed command line is small, and runs', async () => {
  expect(await sizeOf('tablog-cli')).toBeLessThan(1_000_000);
  await writeFile(join(project, 'cities.csv'), 'city,visits\nOslo,1\nRome,2\n');
  const tablog = async (...args: string[]): Promise<string> => {
    const { stdout } = await run(join(project, 'node_modules', '.bin', 'tablog'), args, {
      env: { ...process.env, TABLOG_URL: server.url, TABLOG_TOKEN: await server.token() },
    });
    return stdout;
  };
  expect(await tablog('import', 'cities.csv', '--table', 'cities').catch(() => 'not there')).toBe('not there');
  expect(await tablog('import', join(project, 'cities.csv'), '--table', 'cities')).toMatch(
    /^2 rows imported into the new table "cities"/,
  );
  expect(await tablog('query', 'cities', '--sort', '-visits', '--fields', 'city')).toBe('city\nRome\nOslo\n');
  expect(await tablog('sql', 'select sum(visits) as total from cities')).toBe('total\n3\n');
  expect(await tablog('export', 'cities', '--format', 'ndjson')).toBe(
    '{"city":"Oslo","visits":1}\n{"city":"Rome","visits":2}\n',
  );
  expect(await tablog('types', 'cities')).toContain(
    'export interface Cities {\n  city?: string;\n  visits?: number;\n}',
  );
});
