/** Texts of cells for the tests. */
import { fc } from '../../../support/property.ts';

/** Texts that are something, nearly something, or just text. */
export const cellText = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(
    '1', '-2.50', '1e3', '0', '-0', '007', '+5', '.5', '5.', ' 5', '5 ', '\t5\n', '1e400', '-1E999', '123456789012345',
    '1234567890123456', '9007199254740992', '9007199254740993', '0.12345678901234567890', '1 2', '0x10', 'NaN', '-', '1e',
    'true', 'false', 'TRUE', 'False', ' true', 'true ', 'truex', 'null', ' null ', 'NULL', 'a', 'a b', ' ', '"', '""', '"a"',
    '2024-01-01', '2024-02-30', '2024-01-01T10:00Z', '2024-01-01 10:00', '10:30', 'a:b', 'a@b', '😀', '😀é', 'P1D', '555-0100',
    '[]', '[ ]', '[1, 2]', '[1,\n"a"]', '["2024-01-01"]', '[true]', '[null]', '[[1]]', '[1', '[1,]', '["a"] x', '[9007199254740993]',
    '["\\u0000"]', '["\\ud800"]', '[1e400]', '{}', '{"a": 1}', '{\n"a":\t[1, "x\\ty z"]}', '{"a":9007199254740993}', '{"a":1', '{a:1}',
    '"a\nb"', '"\\ud83d\\ude00"', '"\\ud83d"', `${'['.repeat(32)}${']'.repeat(32)}`, `${'['.repeat(33)}${']'.repeat(33)}`,
  ) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
  { weight: 1, arbitrary: fc.integer().map(String) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }).map((date) => date.toISOString()) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }) },
).filter((text) => text !== '' && !text.includes('\0'));
