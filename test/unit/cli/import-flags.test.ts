import { expect, test } from '@jest/globals';
import { InvalidArgumentError } from 'commander';
import { parseDelimiter, parseEncoding } from '../../../src/cli/import/import-flags.ts';

test.each([[',', ','], [';', ';'], ['|', '|'], ['tab', '\t'], ['TAB', '\t'], ['\\t', '\t'], ['\t', '\t']])('--delimiter %j is %j', (text, delimiter) => {
  expect(parseDelimiter(text)).toBe(delimiter);
});

test.each([['UTF8', 'utf-8'], ['latin1', 'windows-1252'], ['utf-16le', 'utf-16le'], ['shift_jis', 'shift_jis']])('--encoding %s is %s', (label, encoding) => {
  expect(parseEncoding(label)).toBe(encoding);
});

test.each([() => parseDelimiter(''), () => parseDelimiter(':'), () => parseDelimiter(',,'), () => parseEncoding('utf-7'), () => parseEncoding('')])('%s is refused', (parse) => {
  expect(parse).toThrow(InvalidArgumentError);
});
