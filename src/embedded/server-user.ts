/** Postgres refuses to run as root, so a service that is started as root runs its Postgres as somebody else. */
import { execFile } from 'node:child_process';
import { chown, lchown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const run = promisify(execFile);

/** The user that Postgres runs as, where it is not the user of this process. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Whom to run Postgres as: undefined for the user of this process; for root the owner of the files in `cluster` (which
 * need not exist), else `postgres` or `nobody`. Rejects when there is no such user.
 */
export async function chooseServerUser(cluster: string): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined);
    // The ID of nobody is -2 on macOS and printed without its sign, while Node takes IDs of 32 bits with a sign.
    if (ids !== undefined) return { uid: Number(ids[0].stdout) | 0, gid: Number(ids[1].stdout) | 0 };
  }
  throw new EmbeddedPostgresError('Postgres cannot run as root, and there is neither a user "postgres" nor "nobody" to run it as.');
}

/** Whether the user may go through all the folders down to `folder`, and into it. */
export async function canReach(user: ServerUser | undefined, folder: string): Promise<boolean> {
  if (user === undefined) return true;
  return run('/bin/sh', ['-c', 'test -x "$0"', folder], { ...user, cwd: '/' }).then(() => true, () => false);
}

/** Gives a folder and all that is in it to the user. */
export async function giveTo(user: ServerUser, folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), user.uid, user.gid);
  await chown(folder, user.uid, user.gid);
}
