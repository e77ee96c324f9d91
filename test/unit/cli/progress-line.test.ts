import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { progressByKind, ProgressLine } from '../../../src/cli/progress-line.ts';

const lines: string[] = [];

beforeEach(() => {
  jest.useFakeTimers();
  lines.length = 0;
});

afterEach(() => {
  jest.useRealTimers();
});

test('every few seconds a line shows the progress, its rate, and the time left at that rate', () => {
  const progress = new ProgressLine('rows', (line) => lines.push(line));
  progress.update(10, 1000);
  jest.advanceTimersByTime(4000);
  progress.update(400, 1000);
  progress.update(500, 1000);
  jest.advanceTimersByTime(4000);
  progress.update(600, null);
  expect(lines).toEqual(['400 of 1000 rows, 98 a second, 7 s left', '600 rows, 50 a second']);
});

test('resumed work has the rate of its present run', () => {
  const progress = new ProgressLine('events', (line) => lines.push(line));
  progress.update(900_000, 1_000_000);
  jest.advanceTimersByTime(4000);
  progress.update(904_000, 1_000_000);
  expect(lines).toEqual(['904000 of 1000000 events, 1000 a second, 96 s left']);
});

test('each kind of work has lines of its own, with its own rate', () => {
  const update = progressByKind((line) => lines.push(line));
  update('packs', 1, 900);
  jest.advanceTimersByTime(4000);
  update('packs', 800, 900);
  update('files', 1, 9);
  jest.advanceTimersByTime(4000);
  update('files', 5, 9);
  expect(lines).toEqual(['800 of 900 packs, 200 a second, 1 s left', '5 of 9 files, 1 a second, 4 s left']);
});
