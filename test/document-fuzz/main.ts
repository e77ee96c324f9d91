/**
 * `npm run fuzz:document -- [--examples N] [--phases A,B] [--seed N]`: Schemathesis, a public fuzzer, reads the OpenAPI
 * document of a service that is started for it, and nothing else, and sends it requests (README.md). Ends with 1 if an
 * answer is not what the document says. Installs what it needs into node_modules/.cache; `--install` does only that.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onStopSignal } from '../../src/app/stop-signals.ts';
import { startServer } from '../support/server.ts';
import { outputOf } from '../support/tablog.ts';
import { measureSlowness } from '../support/time-limits.ts';

const { values } = parseArgs({
  options: {
    examples: { type: 'string', default: '50' },
    phases: { type: 'string', default: 'examples,coverage,fuzzing,stateful' },
    seed: { type: 'string', default: process.env['SEED'] ?? String(Date.now() % 1e9) },
    install: { type: 'boolean', default: false },
  },
});

const root = join(import.meta.dirname, '..', '..');
const requirements = join(import.meta.dirname, 'requirements.txt');

const interrupted = new AbortController();
onStopSignal((signal) => interrupted.abort(new Error(`${signal} told it to stop`)), say);

/**
 * Its requests come from one address, are many, and many of them are meant to be refused; each write that may become a
 * job does.
 */
const settings = { RATE_LIMIT_REFUSALS: '0', RATE_LIMIT_PUBLIC: '0', RATE_LIMIT_CONNECTIONS: '0', ASYNC_WAIT_MS: '0' };

/** Resolves to the exit code of a command, whose output is shown. */
async function run(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
    signal: interrupted.signal,
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}

/** Installs Schemathesis, unless these versions are there already. Resolves to the folder of its commands. */
async function install(): Promise<string> {
  const version = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 16);
  const cache = join(root, 'node_modules', '.cache', 'tablog');
  const folder = join(cache, `schemathesis-${version}`);
  const bin = join(folder, 'bin');
  if (
    await readFile(join(folder, 'complete')).then(
      () => true,
      () => false,
    )
  )
    return bin;
  await rm(folder, { recursive: true, force: true });
  await mkdir(cache, { recursive: true });
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-m', 'venv', folder]],
    [
      join(bin, 'pip'),
      [
        'install',
        '--quiet',
        '--disable-pip-version-check',
        '--no-input',
        '--only-binary',
        ':all:',
        '--require-hashes',
        '--requirement',
        requirements,
      ],
    ],
    [join(bin, 'python'), ['-c', `open(${JSON.stringify(join(folder, 'complete'))}, 'w').close()`]],
  ];
  for (const [command, args] of steps) {
    const code = await run(command, args);
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  }
  await writeFile(join(folder, 'complete'), '');
  return bin;
}

async function fuzz(): Promise<number> {
  const bin = await install();
  if (values.install) return 0;
  const server = await startServer({ environment: settings });
  try {
    const operator = await outputOf(['tokens', 'create', '--operator', '--name', 'fuzzer'], {
      DATA_DIR: server.folder,
    });
    say(`SEED=${values.seed}`);
    return await run(
      join(bin, 'st'),
      [
        '--config-file',
        join(import.meta.dirname, 'schemathesis.toml'),
        'run',
        `${server.url}/openapi.json`,
        '--seed',
        values.seed,
        '--max-examples',
        values.examples,
        '--phases',
        values.phases,
      ],
      {
        TABLOG_URL: server.url,
        TABLOG_TOKEN: await server.token(),
        TABLOG_ADMIN: operator,
        NO_COLOR: '1',
        PYTHONDONTWRITEBYTECODE: '1',
        HYPOTHESIS_STORAGE_DIRECTORY: join(bin, '..', 'hypothesis'),
      },
    );
  } finally {
    await server.stop();
  }
}

function say(words: string): void {
  process.stderr.write(`${words}\n`);
}

measureSlowness();
process.exitCode = await fuzz();
