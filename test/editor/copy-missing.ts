import { constants } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Copies the files of a folder into another one, and makes that one. Files that are there already stay as they are. */
export async function copyMissing(
  source: string,
  target: string,
): Promise<{ readonly copied: readonly string[]; readonly kept: readonly string[] }> {
  const [copied, kept]: [string[], string[]] = [[], []];
  await mkdir(target, { recursive: true });
  for (const name of await readdir(source)) {
    try {
      await copyFile(join(source, name), join(target, name), constants.COPYFILE_EXCL);
      copied.push(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      kept.push(name);
    }
  }
  return { copied, kept };
}
