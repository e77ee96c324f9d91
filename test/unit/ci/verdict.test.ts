import { expect, test } from '@jest/globals';
import { filesToRepeat, judge, type FileResult, type Run } from '../../ci/verdict.ts';

/** The results of a file, from a status for each test; `status`: its own, if it failed outside of its tests. */
function fileOf(
  tests: Readonly<Record<string, string>>,
  status = Object.values(tests).includes('failed') ? 'failed' : 'passed',
): FileResult {
  const assertionResults = Object.entries(tests).map(([fullName, of]) => ({
    fullName,
    status: of,
    failureMessages: of === 'failed' ? [`${fullName} is wrong`] : [],
  }));
  return { name: 'a.test.ts', status, message: status === 'failed' ? 'the file is wrong' : '', assertionResults };
}

function runOf(...files: readonly FileResult[]): Run {
  return { name: 'TEST_ON=core', exitCode: files.some(({ status }) => status === 'failed') ? 1 : 0, files };
}

const whole = { passed: 0, failed: 0, skipped: 0, report: [] };

test.each<[string, FileResult, FileResult | null, object]>([
  ['all passed', fileOf({ one: 'passed', two: 'passed' }), null, { passed: 2 }],
  ['some did not run', fileOf({ one: 'passed', two: 'pending', three: 'todo' }), null, { passed: 1, skipped: 2 }],
  [
    'a test failed, and the file was not repeated',
    fileOf({ one: 'passed', two: 'failed' }),
    null,
    { passed: 1, failed: 1, report: ['FAILED a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'a test failed, and passed when repeated',
    fileOf({ one: 'passed', two: 'failed' }),
    fileOf({ one: 'passed', two: 'passed' }),
    { passed: 2, report: ['FLAKY a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'a test failed twice',
    fileOf({ one: 'passed', two: 'failed' }),
    fileOf({ one: 'passed', two: 'failed' }),
    { passed: 1, failed: 1, report: ['FAILED a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'of two tests that failed, one passed when repeated',
    fileOf({ one: 'failed', two: 'failed' }),
    fileOf({ one: 'failed', two: 'passed' }),
    { passed: 1, failed: 1, report: ['FAILED a.test.ts: one\none is wrong', 'FLAKY a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'a test failed, and another one when repeated',
    fileOf({ one: 'passed', two: 'failed' }),
    fileOf({ one: 'failed', two: 'passed' }),
    { passed: 2, report: ['FLAKY a.test.ts: one\none is wrong', 'FLAKY a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'a test failed, and did not run when repeated',
    fileOf({ one: 'failed' }),
    fileOf({ one: 'pending' }),
    { failed: 1, report: ['FAILED a.test.ts: one\none is wrong'] },
  ],
  [
    'a test failed, and the file ran none when repeated',
    fileOf({ one: 'failed' }),
    fileOf({}, 'failed'),
    { failed: 2, report: ['FAILED a.test.ts: one\none is wrong', 'FAILED a.test.ts\nthe file is wrong'] },
  ],
  [
    'the file failed before its tests',
    fileOf({}, 'failed'),
    null,
    { failed: 1, report: ['FAILED a.test.ts\nthe file is wrong'] },
  ],
  [
    'the file failed before its tests, and passed when repeated',
    fileOf({}, 'failed'),
    fileOf({ one: 'passed', two: 'pending' }),
    { passed: 1, skipped: 1, report: ['FLAKY a.test.ts\nthe file is wrong'] },
  ],
  [
    'the file failed before its tests, and a test when repeated',
    fileOf({}, 'failed'),
    fileOf({ one: 'passed', two: 'failed' }),
    { passed: 1, failed: 1, report: ['FAILED a.test.ts: two\ntwo is wrong'] },
  ],
  [
    'the file failed after its tests, twice',
    fileOf({ one: 'passed' }, 'failed'),
    fileOf({ one: 'passed' }, 'failed'),
    { passed: 1, failed: 1, report: ['FAILED a.test.ts\nthe file is wrong'] },
  ],
])('the verdict is right if %s', (_what, first, again, expected) => {
  expect(judge([runOf(first)], new Map(again === null ? [] : [[first, again]]))).toEqual({ ...whole, ...expected });
});

test('two tests with the same name pass if both pass when they are repeated', () => {
  const pair = (...statuses: readonly string[]): FileResult => {
    return {
      ...fileOf({}, 'failed'),
      assertionResults: statuses.map((status) => ({ fullName: 'same', status, failureMessages: ['wrong'] })),
    };
  };
  const first = pair('passed', 'failed');
  expect(judge([runOf(first)], new Map([[first, pair('failed', 'passed')]]))).toMatchObject({ passed: 1, failed: 1 });
  expect(judge([runOf(first)], new Map([[first, { ...pair('passed', 'passed'), status: 'passed' }]]))).toMatchObject({
    passed: 2,
    failed: 0,
  });
});

test('a command without results has failed, and is not repeated', () => {
  const runs: Run[] = [{ name: 'TEST_ON=core', exitCode: 2, files: null }, runOf(fileOf({ one: 'passed' }))];
  expect(filesToRepeat(runs, 10)).toEqual([]);
  expect(judge(runs, new Map())).toEqual({
    ...whole,
    passed: 1,
    failed: 1,
    report: ['FAILED TEST_ON=core\nIt ended with 2 and without results.'],
  });
});

test('a command that fails although its tests passed has failed', () => {
  const run = { ...runOf(fileOf({ one: 'passed' })), exitCode: 1 };
  expect(judge([run], new Map())).toEqual({
    ...whole,
    passed: 1,
    failed: 1,
    report: ['FAILED TEST_ON=core\nIt ended with 1, although no test failed.'],
  });
});

test('the beginning of a long message is shown', () => {
  const first = { ...fileOf({}, 'failed'), message: 'x'.repeat(5000) };
  expect(judge([runOf(first)], new Map()).report).toEqual([`FAILED a.test.ts\n${'x'.repeat(1500)}`]);
});

test('the files that failed are repeated, unless they are too many', () => {
  const [good, bad] = [fileOf({ one: 'passed' }), fileOf({ one: 'failed' })];
  const [one, other] = [runOf(good, bad), runOf(fileOf({}, 'failed'))];
  expect(filesToRepeat([one, other], 2)).toEqual([
    { run: one, file: bad },
    { run: other, file: other.files![0] },
  ]);
  expect(filesToRepeat([one, other], 1)).toEqual([]);
});
