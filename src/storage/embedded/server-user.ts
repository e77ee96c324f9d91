/** Postgres refuses to run as root, so a service started as root runs it as another user. */
import { execFile } from 'node:child_process';
import { chown, lchown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const run = promisify(execFile);

/** The user that Postgres runs as, if not the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user to run Postgres as. If this process is not root: undefined, for its own user. If it is root: the owner of
 * `cluster`; if `cluster` does not exist or belongs to root, the user `postgres` or `nobody`. Rejects when there is no
 * such user.
 */
export async function chooseServerUser(cluster: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined);
    // On macOS the ID of nobody is -2, which `id` prints unsigned; Node takes signed 32-bit IDs.
    if (ids !== undefined) return { uid: Number(ids[0].stdout) | 0, gid: Number(ids[1].stdout) | 0 };
  }
  throw new EmbeddedPostgresError(
    'Postgres cannot run as root, and this machine has no user "postgres" or "nobody" to run it as: create one of them, or start the service as another user.',
  );
}

/** Whether the user can traverse all folders down to `folder`, and enter it. */
export async function canReach(user: ServerUser | undefined, folder: string): Promise<boolean> {
  if (user === undefined) return true;
  return run('/bin/sh', ['-c', 'test -x "$0"', folder], { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/** Changes the owner of a folder and all its contents. */
export async function giveTo(user: ServerUser, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), user.uid, user.gid);
  await chown(folder, user.uid, user.gid);
}
