/** The Postgres programs, from the npm package for this platform. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { canReach, giveTo, type ServerUser } from './server-user.ts';

const run = promisify(execFile);

/** Only root can write here, so nobody else can replace the programs. */
const SYSTEM_CACHE = '/var/cache/tablog';

export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** The environment of Postgres: without variables that would change its settings or translate its messages. */
export const environment: NodeJS.ProcessEnv = { PATH: process.env['PATH'], TZ: 'UTC', LC_ALL: 'C' };

/**
 * Finds programs that `user` can run. If the user cannot read the package, or if the package lacks symbolic links and
 * is not writable, the programs are copied to `folder`, or to a system cache if the user cannot reach `folder`. Rejects
 * when there is no package for this platform, or when its programs do not run here.
 */
export async function findPrograms(folder: string, user: ServerUser | undefined): Promise<Programs> {
  const native = findPackage();
  await restoreLinks(native);
  const problem = await problemOfRunning(native, user);
  if (problem === undefined) return programsOf(native);

  const place = (await canReach(user, folder)) ? folder : SYSTEM_CACHE;
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')) as { version: string };
  const copy = join(place, `programs-${version}-${process.platform}-${process.arch}-${user?.uid ?? 'own'}`);
  if ((await problemOfRunning(copy, user)) !== undefined) await copyPrograms(native, copy, user);
  const remaining = await problemOfRunning(copy, user);
  if (remaining === undefined) return programsOf(copy);
  throw new EmbeddedPostgresError(
    `The packaged Postgres does not run here, neither from ${native} (${problem}) nor from ${copy} (${remaining}). ` +
      'It needs glibc on Linux. Set DATABASE_URL to use a Postgres server of your own.',
  );
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name} is not installed. There is one for macOS and Linux, on arm64 and x64: install it ` +
        '(npm install --include=optional), or set DATABASE_URL to use a Postgres server of your own.',
      { cause },
    );
  }
}

function programsOf(native: string): Programs {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

/** Starts both programs, which loads all their libraries. Resolves to the problem, if there is one. */
async function problemOfRunning(native: string, user: ServerUser | undefined): Promise<string | undefined> {
  const { initdb, postgres } = programsOf(native);
  const attempts = [initdb, postgres].map((program) => run(program, ['--version'], { ...user, cwd: '/' }));
  return Promise.all(attempts).then(
    () => undefined,
    (error: Error) => error.message.trim(),
  );
}

/**
 * Creates the package's symbolic links. npm packages cannot contain any: an install script creates them, but many users
 * disable install scripts. A link that cannot be created shows when the programs run.
 */
async function restoreLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    await symlink(basename(source), join(native, '..', target)).catch((error: NodeJS.ErrnoException) => {
      if (!['EEXIST', 'EROFS', 'EACCES', 'EPERM'].includes(error.code ?? '')) throw error;
    });
  }
}

/** Copies under a temporary name and renames it, so that `copy` is always complete. */
async function copyPrograms(native: string, copy: string, user: ServerUser | undefined): Promise<void> {
  const partial = `${copy}.${process.pid}`;
  await mkdir(dirname(copy), { recursive: true });
  if (dirname(copy) === SYSTEM_CACHE) await chmod(SYSTEM_CACHE, 0o755);
  await rm(partial, { recursive: true, force: true });
  // pg-symlinks.json lists paths relative to the folder above `native`.
  await cp(native, join(partial, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a'),
  });
  await restoreLinks(join(partial, 'native'));
  if (user !== undefined) await giveTo(user, partial);
  await rename(join(partial, 'native'), copy).catch((error: NodeJS.ErrnoException) => {
    // Another process was faster, and its copy is as good.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  await rm(partial, { recursive: true, force: true });
}
