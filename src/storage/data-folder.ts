/** Creates the folders that settings name. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError } from './config-error.ts';

const inTheWay = 'a file stands where it, or a folder above it, must be; remove that, or name another folder';
const notAllowed = 'the user of this process may not write there; give it the right to, or name another folder';
const full = 'its disk is full; make room, or name another folder';

const problems: Readonly<Record<string, string>> = {
  EEXIST: inTheWay,
  ENOTDIR: inTheWay,
  EISDIR: 'a folder stands where this file must be; remove that, or name another folder',
  EACCES: notAllowed,
  EPERM: notAllowed,
  EROFS: 'its file system is read-only; name another folder',
  ENOSPC: full,
  EDQUOT: full,
  ENAMETOOLONG: 'its name is too long; name another folder',
};

/** For `mkdir` that fails with ENOENT although the parent folder exists, for example in `/proc`. */
const nothingCanBeMade = 'its file system lets nobody make folders there; name another folder';

/**
 * Runs work that creates folders and files in the folder of a setting. File system errors become a ConfigError that
 * names the path.
 */
export async function inDataFolder<T>(
  folder: string,
  work: () => Promise<T>,
  setting: 'DATA_DIR' | 'FILES_DIR' = 'DATA_DIR',
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '', syscall = '', path = folder } = error as NodeJS.ErrnoException;
    // A program that fails to start is not the folder's fault.
    if (syscall.startsWith('spawn')) throw error;
    const problem = code === 'ENOENT' && syscall === 'mkdir' ? nothingCanBeMade : problems[code];
    throw problem === undefined
      ? error
      : new ConfigError([`${setting}: ${resolve(path)}: ${problem}`], { cause: error });
  }
}

/**
 * Creates a folder and its missing parents. Rejects with the system's error. The recursive `mkdir` of Node 24 cannot be
 * used: in `/proc` it never ends, and on a read-only file system it reports a wrong cause.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isFolder(path)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path).catch(async (second: unknown) => {
      // Another process may have created it meanwhile.
      if (!(await isFolder(path))) throw second;
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
