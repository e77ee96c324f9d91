import { expect, test } from '@jest/globals';
import { AppendUnknown, NotAppended, ProjectionBug } from '../../../src/log/event-log.ts';
import { reportFailure, noLogObserver, reportRefusal, type LogObserver } from '../../../src/log/log-observer.ts';

function observe(): { readonly observer: LogObserver; readonly heard: string[] } {
  const heard: string[] = [];
  const hear = (reason: string): void => {
    heard.push(reason);
  };
  return { observer: { ...noLogObserver, refused: hear, failed: hear }, heard };
}

test.each([
  [new NotAppended('x'), 'not_appended'],
  [new AppendUnknown('x'), 'outcome_unknown'],
  [new ProjectionBug('x'), 'bug'],
])('%s is reported, with its place in the log', (error, failure) => {
  const { observer, heard } = observe();
  expect(reportFailure(observer, error, { partition: 3, offset: 7n })).toBe(error);
  expect(error.place).toEqual({ partition: 3, offset: 7n });
  expect(heard).toEqual([failure]);
});

test('any other error is a bug, and stays unchanged', () => {
  const { observer, heard } = observe();
  const error = new TypeError('x');
  expect(reportFailure(observer, error, { partition: 3 })).toBe(error);
  expect(heard).toEqual(['bug']);
});

test('a refusal is reported with its reason', () => {
  const { observer, heard } = observe();
  const error = reportRefusal(observer, 'queue_bytes', 'too much', { partition: 3 });
  expect(error).toEqual(new NotAppended('too much'));
  expect(error.place).toEqual({ partition: 3 });
  expect(heard).toEqual(['queue_bytes']);
});
