import { describe, expect, test } from '@jest/globals';
import { cutterFor } from '../../../../clients/file-import/cut-file.ts';
import { bodyOf, cutPieces, linesOf, mistakeOf } from './cut-pieces.ts';

const two = { rows: 2, bytes: 1000 };
const noRows = 'the file is one object, and no member of it is an array of objects; as NDJSON it is one row';

describe('a JSON array is cut into arrays', () => {
  test.each([
    ['rows', '[{"a":1},{"a":2},{"a":3}]', ['[{"a":1},{"a":2}]', '[{"a":3}]'], [1, 1, 1]],
    ['rows in lines', '[\n  {"a":1},\n  {"a":\n2},\n\n{"a":3}\n]\n', ['[{"a":1},{"a":\n2}]', '[{"a":3}]'], [2, 3, 6]],
    ['no rows', ' [ ] ', ['[]'], []],
    [
      'tokens as they are',
      '[{"a":4.20,"b":1E+2,"c":[0.10],"d":"\\u0041"}]',
      ['[{"a":4.20,"b":1E+2,"c":[0.10],"d":"\\u0041"}]'],
      [1],
    ],
    ['a byte order mark', '\ufeff[{}]', ['[{}]'], [1]],
  ])('a JSON array is cut into arrays: %s', (_what, text, bodies, lines) => {
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
  ])('NDJSON is cut into arrays: %s', (_what, text, bodies, lines) => {
    const chunks = cutPieces('ndjson', [text], two);
    expect(chunks.map(bodyOf)).toEqual(bodies);
    expect(linesOf(chunks)).toEqual(lines);
  });
});

describe('NDJSON is recognized by its content, whatever its name', () => {
  test.each([
    ['lines', '{"a":1}\n{"a":2}\n', ['[{"a":1},{"a":2}]'], [1, 2]],
    ['objects of several lines', '\n{"a":\n1}\n\n{"a":2}', ['[{"a":\n1},{"a":2}]'], [2, 5]],
    [
      'with arrays of objects in it',
      '{"data":[{"a":1}]}\n{"data":[{"a":2}]}',
      ['[{"data":[{"a":1}]},{"data":[{"a":2}]}]'],
      [1, 2],
    ],
    ['with braces in texts', '{"a":"}{"}\n{"a":"\\"}"}', ['[{"a":"}{"},{"a":"\\"}"}]'], [1, 2]],
  ])('NDJSON is recognized by its content: %s', (_what, text, bodies, lines) => {
    for (const pieces of [[text], Array.from(text, (character) => character)]) {
      const chunks = cutPieces('json', pieces, two);
      expect(chunks.map(bodyOf)).toEqual(bodies);
      expect(linesOf(chunks)).toEqual(lines);
    }
  });

  test('an array is read as one, even if the name says NDJSON', () => {
    expect(cutPieces('ndjson', ['[{"a":1},\n{"a":2}]']).map(bodyOf)).toEqual(['[{"a":1},{"a":2}]']);
  });

  test('a file whose name says NDJSON may be a single row', () => {
    expect(cutPieces('ndjson', ['{"data":[{"a":1}]}']).map(bodyOf)).toEqual(['[{"data":[{"a":1}]}]']);
  });
});

describe('rows are found in an object', () => {
  test.each([
    ['of one member', '{"data":[{"a":1},{"a":2}]}', ['[{"a":1},{"a":2}]'], [1, 1], 'data'],
    [
      'over several lines',
      '{\n "next": null, "total": 2,\n "data": [\n{"a":1},\n\n{"a":2}\n],\n"more":{"data":[{"b":1}]}}\n',
      ['[{"a":1},{"a":2}]'],
      [4, 6],
      'data',
    ],
    [
      'beside other arrays',
      '{"tags":["x"],"none":[],"rows":[{"a":1}],"n":[1,{"b":2}],"last":1}',
      ['[{"a":1}]'],
      [1],
      'rows',
    ],
    ['by a key with escapes', '{"d\\u0061ta":[{"a":4.20}]}', ['[{"a":4.20}]'], [1], 'data'],
    ['by a key that a note cannot show', '{"данные; x":[{"a":1}]}', ['[{"a":1}]'], [1], 'a member'],
    ['in several chunks', '{"data":[{"a":1},{"a":2},{"a":3}]}', ['[{"a":1},{"a":2}]', '[{"a":3}]'], [1, 1, 1], 'data'],
    [
      'that is longer than a row may be',
      `{"about":"${'x'.repeat(600_000)}","data":[{"a":"${'y'.repeat(200_000)}"},{"a":2}]}`,
      [`[{"a":"${'y'.repeat(200_000)}"}]`, '[{"a":2}]'],
      [1, 1],
      'data',
    ],
  ])('rows are found in an object: %s', (_what, text, bodies, lines, key) => {
    for (const pieces of [
      [text],
      text.length > 1000 ? text.match(/.{1,70000}/g)! : Array.from(text, (character) => character),
    ]) {
      const cutter = cutterFor('json', { limits: two });
      const chunks = pieces.flatMap((piece) => [...cutter.push(Buffer.from(piece))]);
      chunks.push(...cutter.end());
      expect(chunks.map(bodyOf)).toEqual(bodies);
      expect(linesOf(chunks)).toEqual(lines);
      expect(cutter.notes).toEqual([`${key}: its objects are the rows`]);
    }
  });

  test('a file of another form has no note', () => {
    const cutter = cutterFor('json', {});
    cutter.push(Buffer.from('[{"data":[{"a":1}]}]'));
    cutter.end();
    expect(cutter.notes).toEqual([]);
  });
});

test('chunks are also bounded by their bytes', () => {
  const chunks = cutPieces('ndjson', [`{"a":1}\n{"a":"${'x'.repeat(50)}"}\n{"a":2}\n{"a":3}`], {
    rows: 100,
    bytes: 20,
  });
  expect(chunks.map(({ rows }) => rows)).toEqual([1, 1, 2]);
});

describe('a malformed file is refused with its line', () => {
  test.each<readonly ['json' | 'ndjson', string | Uint8Array, readonly [number, string]]>([
    ['json', '', [1, 'the file contains no array of objects']],
    ['json', '7', [1, 'the file must be an array of objects']],
    ['json', '{"rows":[]}', [1, noRows]],
    ['json', '{"a":1,\n"b":{"c":[{}]}}', [2, noRows]],
    ['json', '{"a":[{}],\n"b":[1],\n"c":[{}]}', [3, 'two members are arrays of objects: "a" and "c"']],
    ['json', '{"data":[{"a":1},\n2]}', [2, 'a row must be an object']],
    ['json', '{"data":[{"a":1}],\n"b":nul}', [2, 'broken JSON, unexpected "}"']],
    ['json', '{"data":[{"a":1}]\n', [2, 'the file ends in the middle of its object']],
    ['json', '{"data":[{"a":1},\n', [2, 'the file ends in the middle of an object that begins here']],
    ['json', '{"data":[{"a":1}\n', [2, 'the file ends in the middle of its array']],
    ['json', '{"data":[{"a":1}]}\n[]', [2, 'a row must be an object']],
    ['json', '{"a":1}\n{"a":nul}', [2, 'a: broken JSON, unexpected "}"']],
    ['json', '{"a":1} {"a":2}', [1, 'the line continues after the object']],
    ['json', '[{"a":1},\n{"a":nul}]', [2, 'a: broken JSON, unexpected "}"']],
    ['json', '[{"a":1},\n2]', [2, 'a row must be an object']],
    ['json', '[{"a":1}\n{"a":2}]', [2, 'broken JSON, unexpected "{"']],
    ['json', '[{"a":1},\n\n{"a":2', [3, 'the file ends in the middle of an object that begins here']],
    ['json', '[{"a":1},\n{"a":2}', [2, 'the file ends in the middle of its array']],
    ['json', '[{}]\n[{}]', [2, 'broken JSON, unexpected "["']],
    ['json', '[\n{"a":1,\n"a":2}]', [3, 'a: the key stands twice in its row']],
    ['json', Buffer.from('[\n{"a":"\xff"}]', 'latin1'), [2, 'the text is not UTF-8']],
    ['ndjson', '{"a":1}\n{"a":2} {"a":3}\n', [2, 'the line continues after the object']],
    ['ndjson', '{"a":1}\n{"a":2},\n', [2, 'the line continues after the object']],
    ['ndjson', '{"a":1}\n\n{"a":2', [3, 'the file ends in the middle of an object that begins here']],
    ['ndjson', '{"a":1}\n[]\n', [2, 'a row must be an object']],
    ['ndjson', `{"a":1}\n{"a":"${'x'.repeat(600_000)}"}`, [2, 'a row must not be longer than 524288 bytes']],
  ])('a malformed file of %s is refused with its line: %j', (format, content, mistake) => {
    expect(mistakeOf(() => cutPieces(format, [content]))).toEqual(mistake);
  });
});
