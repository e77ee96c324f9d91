/** Random JSON texts for the tests of the formats. */
import { fc } from '../../../support/property.ts';

/** A row as its keys and values, in their order; keys like `10` would not keep theirs in an object. */
export type Entries = readonly (readonly [string, unknown])[];

const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', 'd') },
  { weight: 2, arbitrary: fc.constantFrom('__proto__', 'constructor', '10', '$stashID', '$rowID') },
  { weight: 1, arbitrary: fc.constantFrom('é', 'a"b\\', '😀') },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 6, unit: 'grapheme' }) },
);

const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -1, 1e21, 1.5e-7, '', '2024-02-29', '2024-02-29T10:00:00Z', 'ada@example.com'),
  fc.constantFrom('https://example.com/', '+49 30 123456', '😀', 'é\n"\\/\t', 9007199254740992),
  // Adding 0 makes 0 of -0, which no JSON text of `JSON.stringify` says.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.string({ maxLength: 12, unit: 'grapheme' }),
);

export const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'value' },
    { weight: 5, arbitrary: scalar },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3, depthIdentifier: 'value' }) },
    { weight: 1, arbitrary: fc.dictionary(key, tie('value'), { maxKeys: 3, depthIdentifier: 'value' }) },
  ),
})).value;

const row: fc.Arbitrary<Entries> = fc.uniqueArray(fc.tuple(key, value), { maxLength: 6, selector: ([name]) => name });

/** Rows of which the later ones are mostly like the first. */
export const arbitraryRows: fc.Arbitrary<readonly Entries[]> = fc
  .array(row, { minLength: 1, maxLength: 6 })
  .chain((distinct) => fc.array(fc.constantFrom(...distinct), { maxLength: 12 }));

export function compactText(rowEntries: readonly Entries[]): string {
  return `[${rowEntries.map(rowText).join(',')}]`;
}

export function rowText(entries: Entries): string {
  return `{${entries.map(([name, cell]) => `${JSON.stringify(name)}:${JSON.stringify(cell)}`).join(',')}}`;
}

/** Picks one of `count` things, each time anew. */
type Pick = (count: number) => number;

function picks(choices: readonly number[]): Pick {
  let next = 0;
  return (count) => (choices.length === 0 ? 0 : choices[next++ % choices.length]! % count);
}

const choiceList = fc.array(fc.nat({ max: 1000 }), { maxLength: 40 });

/** The same JSON with blanks between its tokens and some characters of its strings escaped. */
export function withStyle(text: string): fc.Arbitrary<string> {
  return choiceList.map((choices) => {
    const pick = picks(choices);
    const blanks = (): string => ['', '', '', ' ', '\n', '\t\r\n  '][pick(6)]!;
    return text.replaceAll(
      /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^"[\]{}:,]+/g,
      (token) => blanks() + (token.startsWith('"') ? escapedSome(token, pick) : token) + blanks(),
    );
  });
}

function escapedSome(token: string, pick: Pick): string {
  return token.replaceAll(/\\.|[^"\\]/gu, (character) =>
    character.length === 1 && pick(5) === 4 ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : character,
  );
}

/** Bytes that are a text with a few mistakes: bytes replaced, taken out, doubled or put in. */
export function withMistakes(text: string): fc.Arbitrary<Buffer> {
  const mistake = fc.record({
    place: fc.nat(),
    removed: fc.nat({ max: 2 }),
    added: fc
      .constantFrom(
        '',
        '',
        '0',
        '1',
        '-',
        '+',
        '.',
        'e5',
        'e999',
        '"',
        '\\',
        '\\u0000',
        '\\ud800',
        '\\udc00',
        '\\x',
        ',',
        ':',
        '[',
        ']',
        '{',
        '}',
        ' ',
        '\n',
        '\u0001',
        '\0',
        'null',
        'nul',
        'true',
        '/',
        '\ufeff',
        '"a":1,',
        '\\u00e',
        '[]',
        '{}',
      )
      .map((added) => Buffer.from(added)),
    byte: fc.option(fc.nat({ max: 255 }), { freq: 5 }),
  });
  return fc.array(mistake, { maxLength: 3 }).map((mistakes) => {
    let bytes = Buffer.from(text);
    for (const { place, removed, added, byte } of mistakes) {
      const at = place % (bytes.length + 1);
      const put = byte === null ? added : Buffer.of(byte);
      bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
    }
    return bytes;
  });
}

/** The bytes cut into chunks at some of these places. */
export function chunksOf(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}
