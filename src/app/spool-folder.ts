/** The folder in which bodies are kept while they arrive (src/api/http/bodies/spool.ts). */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../storage/data-folder.ts';

/**
 * A folder in `dataDir` or, if nothing can be made there, the folder of the system for temporary files. Removes what is
 * in the first: a process that was killed just when it had opened a file. Others remove the names of their files at
 * once, and so lose nothing.
 */
export async function openSpoolFolder(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'bodies');
  try {
    await makeFolder(folder);
    for (const name of await readdir(folder)) await rm(join(folder, name), { force: true });
    return folder;
  } catch {
    return tmpdir();
  }
}
