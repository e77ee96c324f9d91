import { expect, test } from '@jest/globals';
import { InvalidArgumentError } from 'commander';
import {
  addColumn,
  addType,
  flagOfForm,
  formOfFlags,
  parseDelimiter,
  parseEncoding,
  parseMark,
  parseNulls,
  parseQuote,
  type FormFlags,
} from '../../../../src/cli/import/import-flags.ts';
import { UserError } from '../../../../src/cli/user-error.ts';

test.each([
  [',', ','],
  [';', ';'],
  ['|', '|'],
  ['tab', '\t'],
  ['TAB', '\t'],
  ['\\t', '\t'],
  ['\t', '\t'],
  [':', ':'],
  ['^', '^'],
])('--delimiter %j is %j', (text, delimiter) => {
  expect(parseDelimiter(text)).toBe(delimiter);
});

test.each([
  ['UTF8', 'utf-8'],
  ['latin1', 'windows-1252'],
  ['utf-16le', 'utf-16le'],
  ['shift_jis', 'shift_jis'],
])('--encoding %s is %s', (label, encoding) => {
  expect(parseEncoding(label)).toBe(encoding);
});

test.each([
  () => parseDelimiter(''),
  () => parseMark('##'),
  () => parseQuote('no'),
  () => addColumn('=a'),
  () => addColumn('a='),
  () => parseDelimiter(',,'),
  () => parseEncoding('utf-7'),
  () => parseEncoding(''),
])('%s is refused', (parse) => {
  expect(parse).toThrow(InvalidArgumentError);
});

test.each<[Partial<FormFlags>, object]>([
  [{}, {}],
  [
    { header: false, delimiter: ';', quote: 'none', lenient: true, skipLines: 0, comment: '#', renameDuplicates: true },
    {
      header: 'absent',
      delimiter: ';',
      quote: 'none',
      lenient: true,
      skipLines: 0,
      comment: '#',
      duplicateColumns: 'rename',
    },
  ],
  [{ column: addColumn('__proto__=x', addColumn('a=b=c')) }, { columns: { 'a=b': 'c', ['__proto__']: 'x' } }],
])('the flags %j are the form %j', (flags, form) => {
  expect(JSON.stringify(formOfFlags({ header: true, ...flags }, ','))).toBe(JSON.stringify(form));
});

test('flags with the same mark are refused', () => {
  expect(() => formOfFlags({ header: true, quote: '|' }, '|')).toThrow(
    new UserError('--quote: it must not be the delimiter too.'),
  );
});

test.each([
  [{}, null],
  [{ header: 'absent' }, '--no-header'],
  [{ skipLines: 1 }, '--skip-lines'],
  [{ duplicateColumns: 'rename' }, '--rename-duplicates'],
  [{ dateFormat: 'd.m.y' }, '--date-format'],
] as const)('for the form %j the first flag is %s', (form, flag) => {
  expect(flagOfForm(form)).toBe(flag);
});

test('--null and --type', () => {
  expect(parseNulls('NA,,-')).toEqual(['NA', '-']);
  expect(addType('a=b=array<string>', addType('zip=url'))).toEqual([
    ['zip', 'uri'],
    ['a=b', 'array<string>'],
  ]);
  for (const wrong of ['zip', '=string', 'zip=', 'zip=text'])
    expect(() => addType(wrong)).toThrow(InvalidArgumentError);
  for (const wrong of ['', ',']) expect(() => parseNulls(wrong)).toThrow(InvalidArgumentError);
});
