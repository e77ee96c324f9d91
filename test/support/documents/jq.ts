/** `jq`, which the documents use to read an ID out of an answer. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where a machine has no `jq`: reads a path such as `.data.rowIDs[0]` from a file or stdin, as `jq -r` does. */
const standIn = `#!/usr/bin/env node
const [, path, file] = process.argv.slice(2);
const value = JSON.parse(require('node:fs').readFileSync(file ?? 0, 'utf8'));
console.log(path.match(/\\w+/g).reduce((found, key) => found[key], value));
`;

/** Puts a program `jq` into the folder, which is to be on the path, if the machine has none. */
export async function provideJq(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const exists = await promisify(execFile)('jq', ['--version']).then(
    () => true,
    () => false,
  );
  if (exists) return;
  await writeFile(join(folder, 'jq'), standIn);
  await chmod(join(folder, 'jq'), 0o755);
}
