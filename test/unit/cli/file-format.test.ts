import { describe, expect, test } from '@jest/globals';
import { formatOfName } from '../../../clients/file-import/file-format.ts';
import { formatOf, parseFormat } from '../../../src/cli/file-format.ts';

describe('the name of a file determines its format', () => {
  test.each([
    ['a.csv', 'csv', null],
    ['a.CSV', 'csv', null],
    ['dir.json/a.tsv', 'tsv', null],
    ['a.tab', 'tsv', null],
    ['a.json.gz', 'json', 'gzip'],
    ['a.b.ndjson.zst', 'ndjson', 'zstd'],
    ['a.jsonl', 'ndjson', null],
    ['a.txt', null, null],
    ['a', null, null],
    ['csv', null, null],
    ['a.gz', null, 'gzip'],
    ['a.csv.bak', null, null],
    ['constructor.gz', null, 'gzip'],
  ])('the name %s determines the format', (name, format, compression) => {
    expect(formatOfName(name)).toEqual({ format, compression });
  });
});

describe('--format', () => {
  test.each([
    ['csv', { format: 'csv', compression: null }],
    ['ndjson.gz', { format: 'ndjson', compression: 'gzip' }],
    ['TSV.zst', { format: 'tsv', compression: 'zstd' }],
  ])('--format %s is read', (text, format) => {
    expect(parseFormat(text)).toEqual(format);
  });

  test.each(['', 'xml', 'gz', 'csv.bz2', 'a/csv', 'constructor'])('%j is no format', (text) => {
    expect(() => parseFormat(text)).toThrow(
      'It must be csv, tsv, json, ndjson, or xlsx; add .gz or .zst if it is compressed.',
    );
  });

  test('--format takes precedence over the name, which still determines the compression', () => {
    expect(formatOf('a.csv.gz', parseFormat('tsv'))).toEqual({ format: 'tsv', compression: 'gzip' });
    expect(formatOf('a.csv.gz', parseFormat('tsv.zst'))).toEqual({ format: 'tsv', compression: 'zstd' });
    expect(formatOf('a.csv', undefined)).toEqual({ format: 'csv', compression: null });
    expect(() => formatOf('a.txt', undefined)).toThrow('The name a.txt does not show its format');
    expect(() => formatOf('-', undefined)).toThrow('stdin has no file name');
  });
});
