/**
 * Each query engine has its own folder within a folder that processes may share, also across machines. The engine
 * touches its folder while it runs, so that others recognize the folder of a killed process.
 */
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** Interval of touching a folder, and the age from which a folder counts as abandoned, in milliseconds. */
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
    // Another process may have removed it.
    const touched = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (Date.now() - touched > abandonedAfterMs) await rm(path, { recursive: true, force: true });
  }
}
