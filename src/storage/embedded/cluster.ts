/** The database files on disk: created once, owned by the user that Postgres runs as. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, open, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { environment, findPrograms, type Programs } from './native-package.ts';
import { isAlive } from './processes.ts';
import { canReach, chooseServerUser, giveTo, type ServerUser } from './server-user.ts';

const run = promisify(execFile);

export const SUPERUSER = 'tablog';

export interface Cluster {
  /** Absolute and without symbolic links, because it also tells servers of different folders apart. */
  readonly data: string;
  /** The path of `data` to pass to a Postgres process whose working directory is `data`. */
  readonly dataArgument: string;
  readonly serverLog: string;
  readonly password: string;
  readonly postgres: string;
  readonly user: ServerUser | undefined;
}

/** Opens the cluster in `folder`, and creates folder and cluster if they do not exist. */
export async function openCluster(folder: string, log: (line: string) => void): Promise<Cluster> {
  await makeFolder(folder);
  const root = await realpath(folder);
  const path = join(root, 'cluster');
  try {
    const user = await chooseServerUser(path);
    const programs = await findPrograms(root, user);
    await removeUnfinished(root, log);
    if (!(await exists(path))) await createCluster(root, path, programs, user);
    if (user !== undefined && (await stat(path)).uid === 0) await giveTo(user, path);
    return {
      data: join(path, 'data'),
      dataArgument: await dataArgument(path, user),
      serverLog: join(root, 'server.log'),
      password: (await readFile(join(path, 'password'), 'utf8')).trim(),
      postgres: programs.postgres,
      user,
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    throw new EmbeddedPostgresError(`The database in ${root} cannot be opened: its files belong to another user.`, {
      cause: error,
    });
  }
}

/**
 * A user may own a folder but lack access to the folders above it, for example to a clone in root's home. Then Postgres
 * reaches the folder through its working directory, for which Linux has a direct path.
 */
async function dataArgument(path: string, user: ServerUser | undefined): Promise<string> {
  if (await canReach(user, path)) return join(path, 'data');
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw new EmbeddedPostgresError(
    `Postgres does not run as root, and the user it runs as (${user?.uid}) cannot reach ${path}: keep the data in a ` +
      'folder that others may go through (DATA_DIR), or start the service as another user.',
  );
}

/**
 * Creates the cluster under a temporary name and renames it, so that `path` is always complete. If two processes create
 * it at once, one wins and the other uses its result.
 */
async function createCluster(
  root: string,
  path: string,
  { initdb }: Programs,
  user: ServerUser | undefined,
): Promise<void> {
  const unfinished = join(root, `unfinished-${process.pid}`);
  const data = join(unfinished, 'data');
  await makeFolder(data);
  await writeSecret(join(unfinished, 'password'), randomBytes(24).toString('hex'));
  await chmod(unfinished, 0o700);
  if (user !== undefined) await giveTo(user, unfinished);
  try {
    const options = [
      `--username=${SUPERUSER}`,
      '--pwfile=../password',
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      // The builtin provider ignores the locale of the C library; every platform has "C".
      '--locale=C',
    ];
    const argument = await dataArgument(unfinished, user);
    await run(initdb, ['-D', argument, ...options], { ...user, cwd: data, env: environment });
    await rename(unfinished, path);
    await flush(root);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** Removes the remains of processes that were killed while they created a cluster. */
async function removeUnfinished(root: string, log: (line: string) => void): Promise<void> {
  for (const name of await readdir(root)) {
    const maker = Number(/^unfinished-(\d+)$/.exec(name)?.[1]);
    if (Number.isNaN(maker) || (maker !== process.pid && (await isAlive(maker)))) continue;
    log(`Removing ${join(root, name)}: the process that created it did not finish.`);
    // Its initdb may have survived its parent and still write.
    await rm(join(root, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

async function writeSecret(path: string, secret: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${secret}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function flush(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
