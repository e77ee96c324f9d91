/**
 * `npm run editor`: sets VS Code, and editors that are made from it, up for this repository. Copies vscode/ to
 * `.vscode`, which Git ignores, and keeps the files that are there.
 */
import { join } from 'node:path';
import { copyMissing } from './copy-missing.ts';

const folder = join(import.meta.dirname, '..', '..', '.vscode');
const { copied, kept } = await copyMissing(join(import.meta.dirname, 'vscode'), folder);
for (const name of copied) console.log(`.vscode/${name} is written`);
for (const name of kept) console.log(`.vscode/${name} was there, and is kept`);
