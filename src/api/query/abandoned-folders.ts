/**
 * Each query engine has a folder of its own in one that processes may share, also on several machines. It is touched
 * while it is used, so that one whose process was killed can be told.
 */
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** How often a folder is touched, and after how long it counts as abandoned, in milliseconds. */
export const touchedEveryMs = 60_000;
const abandonedAfterMs = 5 * touchedEveryMs;

export async function touchFolder(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}

/** Removes the folders in `parent` that nobody has touched for a while. */
export async function removeAbandonedFolders(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const path = join(parent, name);
    // Somebody else may have removed it.
    const touched = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (Date.now() - touched > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}
