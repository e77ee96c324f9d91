/** A bundle for browsers: it holds no module of Node, and finds the same in a file. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { build, type BuildResult } from 'esbuild';
import type { Format, TextFormat } from '../../../../clients/file-import/file-format.ts';
import * as direct from '../../../../clients/file-import/preview.ts';
import * as directCutting from '../../../../clients/file-import/cut-file.ts';
import { sourceOfBlob } from '../../../../clients/file-import/source-of-blob.ts';

const source = join(import.meta.dirname, '..', '..', '..', '..', 'clients', 'file-import');
const standIn = join(source, 'browser-buffer.ts');
const names = ['preview', 'cut-file', 'import-file', 'source-of-blob'];

let folder: string;
let built: BuildResult<{ metafile: true }>;
let bundle: typeof direct & typeof directCutting;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-bundle-'));
  const outfile = join(folder, 'bundle.mjs');
  built = await build({
    stdin: { contents: names.map((name) => `export * from './${name}.ts';`).join('\n'), resolveDir: source },
    outfile,
    bundle: true,
    platform: 'browser',
    format: 'esm',
    alias: { 'node:buffer': standIn },
    inject: [standIn],
    metafile: true,
    logLevel: 'silent',
  });
  bundle = (await import(pathToFileURL(outfile).href)) as typeof bundle;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('the bundle needs no other files, and little code of the service', () => {
  expect(Object.values(built.metafile.outputs).flatMap(({ imports }) => imports)).toEqual([]);
  const folders = new Set(
    Object.keys(built.metafile.inputs).map(
      (path) => /^(?:node_modules|clients|src)\/[^/]+/.exec(path.replace(/^(\.\.\/)+/, ''))?.[0] ?? path,
    ),
  );
  expect([...folders].toSorted()).toEqual([
    '<stdin>',
    'clients/file-import',
    'clients/typescript',
    'node_modules/@zip.js',
    'node_modules/base64-js',
    'node_modules/buffer',
    'node_modules/ieee754',
    'node_modules/is-network-error',
    'node_modules/openapi-fetch',
    'node_modules/p-retry',
    'node_modules/papaparse',
    'node_modules/saxes',
    'node_modules/xmlchars',
    'src/language',
  ]);
});

const files: readonly (readonly [TextFormat, string])[] = [
  ['csv', `\ufeffname,born,é\n${'"Ann ""é""\n😀",1988-03-01,1.50\nBo,,\n'.repeat(1200)}`],
  ['csv', `a;b\n${'1,5;"x;y"\n'.repeat(1500)}`],
  ['tsv', `a\tb\n${'true\t[1]\n'.repeat(30)}`],
  [
    'json',
    `[${Array.from({ length: 1500 }, (_, row) => JSON.stringify({ 'row': row, 'é': 'ü\n😀', 'a\\b': [row, null], 'x': null })).join(',\n ')}]`,
  ],
  ['ndjson', '{"a":{"b":"\\u00e9"},"n":1e3}\n'.repeat(50)],
];

test.each(files)('the bundle previews a file as the source does: %s: %#', async (format, text) => {
  const previewed = (from: typeof direct): Promise<direct.Preview> =>
    from.preview(sourceOfBlob(new File([text], 'file')), {
      format,
      encoding: 'utf-8',
      onSchemaError: 'abort',
      signal: new AbortController().signal,
    });
  expect(await previewed(bundle)).toEqual(await previewed(direct));
  const cut = ({ cutterFor }: typeof directCutting): unknown[] => {
    const cutter = cutterFor(format);
    const bytes = new TextEncoder().encode(text);
    const chunks = [0, 1, 2, 3].flatMap((part) => [
      ...cutter.push(bytes.subarray(part * 30_011, part === 3 ? undefined : (part + 1) * 30_011)),
    ]);
    return [...chunks, ...cutter.end()].map(({ body, rows, lines }) => ({
      text: new TextDecoder().decode(body),
      rows,
      lines,
    }));
  };
  expect(cut(bundle)).toEqual(cut(directCutting));
});

test('a workbook', async () => {
  const file = new File(
    [await readFile(join(import.meta.dirname, '../../../fixtures/workbooks/people.xlsx'))],
    'people.xlsx',
  );
  const previewed = (from: typeof direct): Promise<direct.Preview> =>
    from.preview(sourceOfBlob(file), {
      format: 'xlsx',
      encoding: 'utf-8',
      onSchemaError: 'abort',
      signal: new AbortController().signal,
    });
  const found = await previewed(bundle);
  expect(found.rowsRead).toBe(4);
  expect(found).toEqual(await previewed(direct));
});

test.each<readonly [Format, string | Uint8Array<ArrayBuffer>]>([
  ['csv', 'a,b\n1,x"y\n'],
  ['json', '[{"é":1},\n {"é":x}]'],
  ['csv', new Uint8Array([0x61, 0x0a, 0xff])],
  ['ndjson', '{"a":"\\u0000"}'],
])('the same mistakes: %s %#', async (format, content) => {
  const mistakeOf = (from: typeof direct): Promise<unknown> =>
    from
      .preview(sourceOfBlob(new File([content], 'file')), {
        format,
        encoding: 'utf-8',
        onSchemaError: 'abort',
        signal: new AbortController().signal,
      })
      .catch(({ line, reason, encoding }: { line: unknown; reason: unknown; encoding: unknown }) => ({
        line,
        reason,
        encoding,
      }));
  const mistake = await mistakeOf(bundle);
  expect(mistake).toMatchObject({ reason: expect.any(String) });
  expect(mistake).toEqual(await mistakeOf(direct));
});
