/**
 * `npm run conventions`, a part of `npm run lint`: what the formatter and the linter do not see. Lines end at 120
 * columns, test titles are sentences, and no two exported names are equal.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse } from './parse.ts';
import { longLinesOfCode, longLinesOfText } from './long-lines.ts';
import { poorTitles } from './test-titles.ts';
import { sharedNames } from './exported-names.ts';

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
/** The client's types are generated, and fixtures are kept as they were written. */
const isOurs = (path: string): boolean => !path.endsWith('/interface.ts') && !path.includes('/fixtures/');
const paths = listed.split('\n').filter((path) => /\.(tsx?|mjs|md)$/.test(path) && isOurs(path));
const files = paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const documents = files.filter(({ path }) => path.endsWith('.md'));
const sources = files.filter(({ path }) => !path.endsWith('.md')).map(parse);

const problems = [
  ...documents.flatMap(longLinesOfText),
  ...sources.flatMap(longLinesOfCode),
  ...sources.flatMap(poorTitles),
  ...sharedNames(sources),
];
for (const problem of problems) console.error(problem);
console.log(`${files.length} files, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
