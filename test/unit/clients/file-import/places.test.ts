import { expect, test } from '@jest/globals';
import { Places } from '../../../../clients/file-import/places.ts';

const places = new Places();
places.add({ rows: 1000, lines: { first: 2, each: null } });
places.add({ rows: 3, lines: { first: 1002, each: new Uint32Array([1002, 1005, 1006]) } });

test.each<readonly [string, number | null, object | null]>([
  ['chunk 1, rows[1].age: "x" does not fit', null, { line: 1005, row: 1002 }],
  ['chunk 0, rows[0]["my age"]: no', null, { line: 2, row: 1 }],
  ['rows[7]: the line has 3 cells', 0, { line: 9, row: 8 }],
  ['rows[2].a: no', 1, { line: 1006, row: 1003 }],
  ['header[1]: the column ID "a" occurs twice', 0, { line: 1, row: null }],
  ['rows[7]: no', null, null],
  ['chunk 2, rows[0]: no', null, null],
  ['chunk x, rows[0]: no', null, null],
  ['name: rows[0] is missing', 0, null],
])('%j of chunk %j', (message, serial, place) => {
  expect(places.find(message, serial, 1)).toEqual(place);
});
