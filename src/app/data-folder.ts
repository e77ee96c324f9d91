/** The folders that settings name. */
import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError } from './config.ts';

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

/** Such as in `/proc`: the folder above is there. */
const nothingCanBeMade = 'its file system lets nobody make folders there; name another folder';

/**
 * Does what makes folders and files in the folder of a setting. What the system has against that is a ConfigError, which
 * names the path.
 */
export async function inDataFolder<T>(folder: string, work: () => Promise<T>, setting: 'DATA_DIR' | 'FILES_DIR' = 'DATA_DIR'): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '', syscall = '', path = folder } = error as NodeJS.ErrnoException;
    // A program that cannot be started is not the folder's fault.
    if (syscall.startsWith('spawn')) throw error;
    const problem = code === 'ENOENT' && syscall === 'mkdir' ? nothingCanBeMade : problems[code];
    throw problem === undefined ? error : new ConfigError([`${setting}: ${resolve(path)}: ${problem}`], { cause: error });
  }
}

/**
 * Makes a folder, and those above it, where they are not there yet. Rejects with what the system says. The recursive `mkdir` of
 * Node 24 does not: where nothing can be made it never ends (`/proc`), or names a wrong cause (a file system that is read-only).
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    if (await isFolder(path)) return;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path));
    await mkdir(path).catch(async (second: unknown) => {
      // Another process may have been faster.
      if (!(await isFolder(path))) throw second;
    });
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then((stats) => stats.isDirectory(), () => false);
}
