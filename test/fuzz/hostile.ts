/** Values that no well-meaning client sends. */
import type { Random } from '../support/random.ts';

/** Texts for names, IDs, cells and query parameters. Some are no valid Unicode. */
const texts: readonly string[] = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'a\udfff',
  '\u{1f600}',
  'e\u0301',
  '\u202eabc\u202c',
  '\u05d0\u05d1',
  '\ufeff',
  '\uffff',
  '\u2028',
  '\x1b[31m',
  '\x7f',
  '\r\n',
  '\n',
  '\t',
  '"',
  '\\',
  "'",
  "'; drop table rows; --",
  '$rowID',
  '$stashID',
  '$',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  'true',
  '0',
  '-1',
  '1e400',
  '-0',
  '../../etc/passwd',
  '..',
  '.',
  '/',
  '%',
  '%00',
  '%s%n',
  '{}',
  '[]',
  '*',
  ',',
  ';',
  '${7*7}',
  '\\u0000',
  '\ud83d',
  '00000000-0000-0000-0000-000000000000',
  'AAAAAAAAAAAAAAAAAAAAAA',
  '_____________________w',
  '2024-02-30',
  '9999999-12-31',
  'P9999999999Y',
];

export function hostileText(random: Random): string {
  return random.weighted<() => string>([
    [60, () => random.pick(texts)],
    [10, () => random.pick(texts) + random.pick(texts)],
    [
      4,
      () =>
        random
          .pick(['a', '\u{1f600}', '\ud800', '\0', '"', '%41'])
          .repeat(random.pick([255, 256, 257, 1024, 1025, 5000])),
    ],
    [1, () => 'x'.repeat(random.pick([262_143, 262_144, 262_145, 300_000]))],
  ])();
}

const numbers: readonly string[] = [
  '0',
  '-0',
  '-1',
  '1',
  '1.5',
  '1e400',
  '-1e400',
  '1e-400',
  '5e-324',
  '1.7976931348623157e308',
  '9007199254740991',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775809',
  '2147483648',
  '4294967296',
  '1e21',
  '0.1e-6',
  '1E+2',
  '123456789012345678901234567890',
  '0.1234567890123456789',
];

/** A number as JSON text. */
export function hostileNumber(random: Random): string {
  return random.chance(0.03) ? '1'.repeat(random.pick([400, 5000])) : random.pick(numbers);
}

/** A JSON text, mostly valid. */
export function hostileJson(random: Random): string {
  return random.weighted<() => string>([
    [20, () => JSON.stringify(hostileText(random))],
    [10, () => hostileNumber(random)],
    [
      10,
      () =>
        random.pick([
          'null',
          'true',
          'false',
          '{}',
          '[]',
          '[[]]',
          '[{}]',
          '[null]',
          '{"":""}',
          '[{"":1}]',
          '{"a":{}}',
          '[{"__proto__":{"x":1}}]',
        ]),
    ],
    [4, () => `{"a":${hostileNumber(random)},"a":${JSON.stringify(hostileText(random))}}`],
    [
      3,
      () =>
        nested(
          random.pick([
            ['[', ']'],
            ['{"a":', '}'],
            ['[{"a":', '}]'],
          ]),
          random.pick([3, 64, 500, 10_000]),
        ),
    ],
    [2, () => `[{${Array.from({ length: random.pick([100, 1000, 3000]) }, (_, at) => `"c${at}":${at}`).join(',')}}]`],
    [2, () => `{${JSON.stringify(hostileText(random))}:${hostileNumber(random)}}`],
    [
      6,
      () =>
        random.pick([
          '',
          ' ',
          '{',
          '[',
          '"',
          '{"a"',
          '[1,]',
          '{"a":1,}',
          '[01]',
          '[.5]',
          '[+1]',
          'nul',
          '\ufeff[]',
          '[]]',
          '[] []',
          '[1 2]',
          '["\\x"]',
          '["\\ud800"]',
          '["\\u00"]',
          '["\t"]',
          'NaN',
          '[Infinity]',
          '// x\n[]',
          "['a']",
          '[\0]',
        ]),
    ],
  ])();
}

function nested([open, close]: readonly string[], depth: number): string {
  return `${open!.repeat(depth)}1${close!.repeat(depth)}`;
}

/** A value of a header, in Latin-1. It may have characters that HTTP forbids in headers, but no line breaks. */
export function hostileHeader(random: Random): string {
  return random.weighted<() => string>([
    [
      30,
      () =>
        hostileText(random)
          .slice(0, 2000)
          .replaceAll(/[\r\n]/g, ' '),
    ],
    [
      20,
      () =>
        random.pick([
          '"',
          '""',
          '"1',
          '1',
          'W/"1"',
          'w/"1"',
          '"-1"',
          '"1", "2"',
          '*',
          '*, "1"',
          '"9223372036854775808"',
          '"99999999999999999999"',
          '"01"',
          ',',
          ',,"1"',
          `"${'1'.repeat(1000)}"`,
          '"1"x',
          '"\xe9"',
        ]),
    ],
    [
      10,
      () =>
        random.pick([
          'bytes=0-',
          'bytes=-1',
          'bytes=-0',
          'bytes=5-2',
          'bytes=0-0,1-1',
          'bytes=99999999999999999999-',
          'bytes=a-b',
          'items=0-1',
          'bytes=',
          'bytes=0-18446744073709551616',
        ]),
    ],
    [
      5,
      () => random.pick(['gzip, br', 'deflate', 'identity', 'gzip;q=0', 'GZIP', ' gzip ', 'x-gzip', 'compress', '*']),
    ],
    [2, () => 'h'.repeat(random.pick([1000, 15_000, 17_000]))],
  ])();
}

/**
 * A part of a path or query, mostly percent-encoded. It has no blanks or control characters, which would end the
 * request line.
 */
export function hostilePart(random: Random): string {
  return random.weighted<() => string>([
    [20, () => encodeURIComponent(hostileText(random).slice(0, 3000).toWellFormed())],
    [
      6,
      () =>
        random.pick([
          '%',
          '%zz',
          '%c3',
          '%c3%28',
          '%ed%a0%80',
          '%00',
          '%2e%2e',
          '%2F',
          '%252F',
          '%ff',
          '+',
          '%u0041',
          '%C0%AF',
          'a;b',
          'a=b',
          'a&b',
          ':',
          '@',
          '\\',
          '|',
          '^',
          '`',
          '{}',
        ]),
    ],
    [1, () => 'p'.repeat(random.pick([300, 4000, 16_500]))],
  ])();
}

/** Alters some bytes: cuts, repeats, flips or inserts. */
export function corrupt(bytes: Uint8Array, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  return random.pick([
    () => Buffer.from(before),
    () => Buffer.concat([before, Buffer.from([random.below(256)]), after]),
    () => Buffer.concat([before, after.subarray(1)]),
    () => Buffer.concat([before, Buffer.from([random.below(256)]), after.subarray(1)]),
    () => Buffer.concat([before, bytes.subarray(random.below(bytes.length + 1))]),
    () => Buffer.concat([bytes, after]),
  ])();
}
