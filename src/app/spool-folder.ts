/** The folder for bodies while they arrive (src/api/http/bodies/spool.ts). */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../storage/data-folder.ts';

/**
 * Creates the folder `bodies` in `dataDir`, and removes files that killed processes left in it. This cannot harm
 * running processes, because they unlink each file right after opening it. Resolves to the folder, or to the system's
 * folder for temporary files if `dataDir` cannot be written.
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
