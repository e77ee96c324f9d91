/** The folders that settings name. */
import { ConfigError } from './config.ts';

const inTheWay = 'a file stands where it, or a folder above it, must be; remove that, or name another folder';
const notAllowed = 'the user of this process may not write there; give it the right to, or name another folder';

const problems: Readonly<Record<string, string>> = {
  EEXIST: inTheWay,
  ENOTDIR: inTheWay,
  EISDIR: 'a folder stands where its file `token` must be; remove that, or name another folder',
  EACCES: notAllowed,
  EPERM: notAllowed,
  EROFS: 'it cannot be written to; name another folder',
  ENOSPC: 'its disk is full; make room, or name another folder',
};

/** Does what makes folders and files in the folder of a setting. What the system has against that is a ConfigError. */
export async function inDataFolder<T>(work: () => Promise<T>, setting: 'DATA_DIR' | 'FILES_DIR' = 'DATA_DIR'): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const problem = problems[(error as NodeJS.ErrnoException).code ?? ''];
    throw problem === undefined ? error : new ConfigError([`${setting}: ${problem}`], { cause: error });
  }
}
