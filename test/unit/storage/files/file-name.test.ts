/** The names of files, and the rows that name them. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { fileNamesIn, filePath, fileReferencesIn, isFileName } from '../../../../src/storage/files/file-name.ts';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';

const name = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('base64url'));
const known = 'AAAAAAAAAAAAAAAAAAA_-A';

/** Text, with or without a URL of a file in it, or something that is nearly one. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.constantFrom('/files', '/files/', 'files/', '/', '"', '\n', 'u0066iles/', known, `/filesX/${known}`),
      name,
      name.map((file) => `https://h${filePath(file, 'a b.png')}`),
      name.map((file) => `/files/${file.slice(1)}`),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(''));

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { weight: 5, arbitrary: text },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
    fc.dictionary(text, tie('value'), { maxKeys: 2 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    // A cell of CSV may hold JSON.
    tie('value').map((inner) => JSON.stringify(inner)),
  ),
}));
const row = fc.dictionary(text, value, { maxKeys: 4 });

/** The JSON of a value, some characters of its strings escaped where they need not be. */
function write(written: unknown, escapes: (character: string) => string): string {
  return JSON.stringify(written).replaceAll(/\\.|[\w/-]/gs, (token) =>
    token.startsWith('\\') ? token : escapes(token),
  );
}

/** Of digits and letters outside of strings (numbers, true) none may be escaped: so only the strings are walked. */
function writeEscaped(written: unknown, choose: () => number): string {
  const escape = (character: string): string => {
    const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
    const choice = choose() % 8;
    if (character === '/' && choice < 3) return '\\/';
    if (choice === 3) return `\\u${hex}`;
    return choice === 4 ? `\\u${hex.toUpperCase()}` : character;
  };
  if (typeof written === 'string') return write(written, escape);
  if (Array.isArray(written)) return `[${written.map((each) => writeEscaped(each, choose)).join(', ')}]`;
  if (typeof written !== 'object' || written === null) return JSON.stringify(written);
  return `{${Object.entries(written)
    .map(([key, each]) => `${write(key, escape)}:${writeEscaped(each, choose)}`)
    .join(',')}}`;
}

/** Every string of a value, and of the JSON in its strings. */
function stringsOf(walked: unknown): string[] {
  if (typeof walked === 'string') {
    try {
      return [walked, ...stringsOf(JSON.parse(walked))];
    } catch {
      return [walked];
    }
  }
  if (typeof walked !== 'object' || walked === null) return [];
  return [...(Array.isArray(walked) ? [] : Object.keys(walked)), ...Object.values(walked).flatMap(stringsOf)];
}

/** Some of these are no names of files, because of some bytes there is one spelling only. */
const looksLikeName = /^[\w-]{22}$/;

/** Slow, and a character at a time. */
function namesIn(strings: readonly string[]): string[] {
  const names = new Set<string>();
  for (const each of strings) {
    for (let at = 0; at < each.length; at += 1) {
      const candidate = each.slice(at + '/files/'.length, at + '/files/'.length + 22);
      if (each.slice(at, at + '/files/'.length) === '/files/' && looksLikeName.test(candidate)) names.add(candidate);
    }
  }
  return [...names].toSorted();
}

describe('the files that a row names', () => {
  test('are those whose URLs are in its strings, in any spelling', () => {
    fc.assert(
      fc.property(row, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (given, choices) => {
        let at = 0;
        const written = writeEscaped(given, () => choices[at++ % choices.length]!);
        expect(JSON.parse(written)).toEqual(given);
        const strings = stringsOf(given);
        const found = fileNamesIn(written);
        expect(new Set(found).size).toBe(found.length);
        const named = namesIn(strings);
        // A backslash in a string may be an escape of JSON in it, or not: then more than those may be found.
        if (strings.some((each) => each.includes('\\'))) expect(found).toEqual(expect.arrayContaining(named));
        else expect([...found].toSorted()).toEqual(named);
      }),
      { numRuns: 2000 },
    );
  });

  test('are found for each of many rows', () => {
    const rows = fc.array(fc.oneof(row, fc.constant({ a: 'é\u0080 🙂' })), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rows, fc.array(fc.nat(), { minLength: 1, maxLength: 50 }), (given, choices) => {
        let at = 0;
        const lines = given.map((each) => writeEscaped(each, () => choices[at++ % choices.length]!));
        const expected = lines.flatMap((line, index) => fileNamesIn(line).map((file) => ({ index, file })));
        // In the middle of a larger buffer, as blocks come.
        const bytes = Buffer.from(`/files/${known}\n${lines.join('\n')}\n/files/${known}`);
        expect(fileReferencesIn(bytes.subarray(30, bytes.length - 30))).toEqual(expected);
      }),
    );
  });

  test.each<[what: string, row: string, names: readonly string[]]>([
    ['a URL', `{"a":"https://h/files/${known}/a.png"}`, [known]],
    ['one under a path', `{"a":"https://h/base/files/${known}?x"}`, [known]],
    ['one without anything behind it', `{"a":"https://h/files/${known}"}`, [known]],
    ['an element of a list', `{"a":["x","https://h/files/${known}/a"]}`, [known]],
    [
      'a picture in Markdown, twice',
      `{"a":"![x](https://h/files/${known}/a) ![x](https://h/files/${known}/a)"}`,
      [known],
    ],
    ['escaped slashes', `{"a":"https:\\/\\/h\\/files\\/${known}\\/a"}`, [known]],
    ['escaped letters', `{"a":"\\u002F\\u0066ile\\u0073\\u002f\\u0041${known.slice(1)}"}`, [known]],
    ['JSON in a cell', JSON.stringify({ a: `["https:\\/\\/h\\/files\\/${known}\\/a"]` }), [known]],
    ['escapes of other characters', `{"a":"\\u00e9 \\u0026/files/${known}"}`, [known]],
    ['a name that is too short', `{"a":"/files/${known.slice(1)}"}`, []],
    ['another folder', `{"a":"/file/${known}"}`, []],
    ['a form feed', `{"a":"/\\files/${known}"}`, []],
    ['nothing', '{}', []],
  ])('a row names files: %s', (_, given, names) => {
    expect(fileNamesIn(given)).toEqual(names);
  });
});

test('the time to find the files of a row is linear, whatever its content', async () => {
  // Work that grows with the square of the length would be minutes here. It would hold up the clock of the test too: so
  // it is done elsewhere.
  const module = new URL('../../../../src/storage/files/file-name.ts', import.meta.url).href;
  const work = async (href: string): Promise<void> => {
    const { fileNamesIn: namesOf } = await import(href);
    for (const part of ['\\', '\\\\u005c', '\\u005c', '/files\\', '/files/', '/']) {
      if (namesOf(`/files${part.repeat((512 * 1024) / part.length)} \\u0001 \\u0030`).length > 0)
        throw new Error(`names in ${part}`);
    }
  };
  const worker = new Worker(`(${work})(${JSON.stringify(module)})`, { eval: true });
  try {
    expect(await once(worker, 'exit')).toEqual([0]);
  } finally {
    await worker.terminate();
  }
});

test('a name is new each time, and its path names it', () => {
  const names = Array.from({ length: 100 }, newFileName);
  expect(new Set(names).size).toBe(100);
  for (const each of names) {
    expect(isFileName(each)).toBe(true);
    expect(fileNamesIn(JSON.stringify({ a: filePath(each, '/files/\ud800 "ä".png') }))).toEqual([each]);
  }
  expect(filePath(known, 'a b/ü.png')).toBe(`/files/${known}/a%20b%2F%C3%BC.png`);
  expect(['', known.slice(1), `${known}A`, known.replace('_', '+'), `${known}\n`].some(isFileName)).toBe(false);
});
