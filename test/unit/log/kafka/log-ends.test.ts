import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { LogEnds } from '../../../../src/log/kafka/log-ends.ts';

let end = 10n;
let asked: number[] = [];
/** The broker that gives the ends. */
let leader = '1';
/** Whether the brokers agree on who leads. */
let agree = true;
let short: string[] = [];
let ends: LogEnds;

/** Until the ends were asked this many times. */
const pass = (times: number): Promise<unknown> => jest.advanceTimersByTimeAsync(times * 1000);

beforeEach(() => {
  jest.useFakeTimers();
  end = 10n;
  asked = [];
  agree = true;
  leader = '1';
  short = [];
  ends = new LogEnds({
    connection: {
      bounds: async () =>
        new Map([
          [0, { start: 0n, end: 10n, leader }],
          [1, { start: 0n, end, leader }],
        ]),
      findLeaderAnew: async (partition) => {
        asked.push(partition);
        if (!agree) throw new Error('the brokers do not agree');
        return '1';
      },
    },
    ends: [10n, 10n],
    nextOf: () => 10n,
    logger: pino({ level: 'silent' }),
    onShort: (partition, to, next) => short.push(`${partition}: ${to} of ${next}`),
  });
  ends.start();
});

afterEach(async () => {
  await ends.close();
  jest.useRealTimers();
});

test('a partition that is too short is reported once, after its leader was asked again', async () => {
  end = 7n;
  await pass(1);
  expect([asked, short]).toEqual([[], []]);
  await pass(1);
  expect([asked, short]).toEqual([[1], ['1: 7 of 10']]);
  // To ask who leads breaks the connections on which other partitions are sent to.
  await pass(10);
  expect([asked, short]).toEqual([[1], ['1: 7 of 10']]);
});

test('a partition that is too short only once is not reported', async () => {
  end = 7n;
  await pass(1);
  end = 10n;
  await pass(5);
  expect([asked, short]).toEqual([[1], []]);
});

test('a partition that was restored and is too short again is reported again', async () => {
  end = 7n;
  await pass(2);
  end = 10n;
  await pass(1);
  end = 8n;
  await pass(2);
  expect([asked, short]).toEqual([
    [1, 1],
    ['1: 7 of 10', '1: 8 of 10'],
  ]);
});

test('a partition is not reported while the brokers disagree about its leader, and Kafka does not count as away', async () => {
  end = 7n;
  agree = false;
  await pass(3);
  expect([asked, short, ends.away]).toEqual([[1, 1], [], null]);
  agree = true;
  await pass(1);
  expect(short).toEqual(['1: 7 of 10']);
});

test('a partition is not reported if its end came from another broker than the leader', async () => {
  end = 7n;
  leader = '2';
  await pass(3);
  expect([asked, short]).toEqual([[1, 1], []]);
  leader = '1';
  await pass(1);
  expect(short).toEqual(['1: 7 of 10']);
});
