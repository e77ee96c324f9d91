import { describe, expect, test } from '@jest/globals';
import { bodyOf, cutPieces, linesOf, mistakeOf } from './cut-pieces.ts';

const two = { rows: 2, bytes: 1000 };

describe('a JSON array is cut into arrays', () => {
  test.each([
    ['rows', '[{"a":1},{"a":2},{"a":3}]', ['[{"a":1},{"a":2}]', '[{"a":3}]'], [1, 1, 1]],
    ['rows in lines', '[\n  {"a":1},\n  {"a":\n2},\n\n{"a":3}\n]\n', ['[{"a":1},{"a":\n2}]', '[{"a":3}]'], [2, 3, 6]],
    ['no rows', ' [ ] ', ['[]'], []],
    ['tokens as they are', '[{"a":4.20,"b":1E+2,"c":[0.10],"d":"\\u0041"}]', ['[{"a":4.20,"b":1E+2,"c":[0.10],"d":"\\u0041"}]'], [1]],
    ['a byte order mark', '\ufeff[{}]', ['[{}]'], [1]],
  ])('%s', (_what, text, bodies, lines) => {
    const chunks = cutPieces('json', [text], two);
    expect(chunks.map(bodyOf)).toEqual(bodies);
    expect(linesOf(chunks)).toEqual(lines);
  });
});

describe('NDJSON is cut into arrays', () => {
  test.each([
    ['lines', '{"a":1}\n{"a":2}\n{"a":3}\n', ['[{"a":1},{"a":2}]', '[{"a":3}]'], [1, 2, 3]],
    ['no line end at the end', '{"a":4.20}\r\n{"a":2}', ['[{"a":4.20},{"a":2}]'], [1, 2]],
    ['blank lines', '\n\n{"a":1} \t\n \n{"a":2}', ['[{"a":1},{"a":2}]'], [3, 5]],
    ['objects of several lines', '{\n"a":1\n}\n{"a":2}', ['[{\n"a":1\n},{"a":2}]'], [1, 4]],
    ['nothing', '', ['[]'], []],
    ['a byte order mark alone', '\ufeff', ['[]'], []],
  ])('%s', (_what, text, bodies, lines) => {
    const chunks = cutPieces('ndjson', [text], two);
    expect(chunks.map(bodyOf)).toEqual(bodies);
    expect(linesOf(chunks)).toEqual(lines);
  });
});

test('chunks are bounded by their bytes too', () => {
  const chunks = cutPieces('ndjson', [`{"a":1}\n{"a":"${'x'.repeat(50)}"}\n{"a":2}\n{"a":3}`], { rows: 100, bytes: 20 });
  expect(chunks.map(({ rows }) => rows)).toEqual([1, 1, 2]);
});

describe('what is malformed is refused with its line', () => {
  test.each<readonly ['json' | 'ndjson', string | Uint8Array, readonly [number, string]]>([
    ['json', '', [1, 'the file has no array of objects in it']],
    ['json', '{"rows":[]}', [1, 'the file must be an array of objects']],
    ['json', '[{"a":1},\n{"a":nul}]', [2, 'a: broken JSON, unexpected "}"']],
    ['json', '[{"a":1},\n2]', [2, 'a row must be an object']],
    ['json', '[{"a":1}\n{"a":2}]', [2, 'broken JSON, unexpected "{"']],
    ['json', '[{"a":1},\n\n{"a":2', [3, 'the file ends in the middle of an object that begins here']],
    ['json', '[{"a":1},\n{"a":2}', [2, 'the file ends in the middle of its array']],
    ['json', '[{}]\n[{}]', [2, 'broken JSON, unexpected "["']],
    ['json', '[\n{"a":1,\n"a":2}]', [3, 'a: the key stands twice in its row']],
    ['json', Buffer.from('[\n{"a":"\xff"}]', 'latin1'), [2, 'the text is not UTF-8']],
    ['ndjson', '{"a":1}\n{"a":2} {"a":3}\n', [2, 'something follows the object in its line']],
    ['ndjson', '{"a":1}\n{"a":2},\n', [2, 'something follows the object in its line']],
    ['ndjson', '{"a":1}\n\n{"a":2', [3, 'the file ends in the middle of an object that begins here']],
    ['ndjson', '{"a":1}\n[]\n', [2, 'a row must be an object']],
    ['ndjson', `{"a":1}\n{"a":"${'x'.repeat(600_000)}"}`, [2, 'a row must not be longer than 524288 bytes']],
  ])('%s: %j', (format, content, mistake) => {
    expect(mistakeOf(() => cutPieces(format, [content]))).toEqual(mistake);
  });
});
