/** `jq`, with which the documents read an ID from an answer. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** If a machine has no `jq`, this reads a path such as `.data.rowIDs[0]` from a file or stdin, as `jq -r` does. */
const standIn = `#!/usr/bin/env node
const [, path, file] = process.argv.slice(2);
const value = JSON.parse(require('node:fs').readFileSync(file ?? 0, 'utf8'));
console.log(path.match(/\\w+/g).reduce((found, key) => found[key], value));
`;

/** If the machine has no `jq`, puts a program of that name into the folder, which must be on the path. */
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
