import { describe, expect, jest, test } from '@jest/globals';
import { LogClock } from '../../../src/log/log-clock.ts';

describe('a clock of the log', () => {
  test('is the clock of this process until the server has answered, and then the clock of the server', () => {
    const clock = new LogClock('Postgres');
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1000);
    clock.set(Date.now() - 30_000);
    expect(Math.abs(clock.now() - (Date.now() - 30_000))).toBeLessThan(1000);
  });

  test.each([
    [59_000, null],
    [-59_000, null],
    [75_000, 'The clock of Postgres is 75 s ahead of the clock of this process: correct the wrong one.'],
    [-75_000, 'The clock of Postgres is 75 s behind the clock of this process: correct the wrong one.'],
  ])('that is %d ms ahead: %s', (ahead, problem) => {
    const clock = new LogClock('Postgres');
    expect(clock.problem).toBeNull();
    clock.set(Date.now() + ahead);
    expect(clock.problem).toBe(problem);
  });

  test('may have been corrected five seconds later', () => {
    jest.useFakeTimers();
    try {
      const clock = new LogClock('the brokers');
      clock.set(Date.now() + 75_000);
      jest.advanceTimersByTime(4900);
      expect(clock.problem).not.toBeNull();
      jest.advanceTimersByTime(200);
      expect(clock.problem).toBeNull();
    } finally {
      jest.useRealTimers();
    }
  });
});
