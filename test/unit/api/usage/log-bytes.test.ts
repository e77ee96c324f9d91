import { expect, test } from '@jest/globals';
import { exceededLogBytes } from '../../../../src/api/usage/log-bytes.ts';
import { dayOf } from '../../../../src/api/usage/log-bytes-notes.ts';

const ofPlan = (max: number) => ({
  type: 'payment_required',
  message: `the team's plan allows ${max} bytes of the log today and 10 are in use`,
});
const ofSetting = (max: number) => {
  return {
    type: 'limit_exceeded',
    message: `the team has 10 bytes of the log today and may have at most ${max}: wait until the next day (UTC)`,
  };
};

test.each([
  ['nothing limits it', null, undefined, null],
  ['the setting allows more', null, 11, null],
  ['the setting allows as much', null, 10, ofSetting(10)],
  ['the setting allows less', null, 9, ofSetting(9)],
  ['the plan allows more than the setting', 11, 9, null],
  ['the plan allows less than the setting', 9, 11, ofPlan(9)],
  ['the plan alone allows less', 10, undefined, ofPlan(10)],
  ['the plan allows nothing', 0, undefined, ofPlan(0)],
])('a team that has used 10 bytes, where %s', (_what, planMax, settingMax, refusal) => {
  expect(exceededLogBytes({ used: 10, planMax }, settingMax)).toEqual(refusal);
});

test.each([
  [0, '1970-01-01'],
  [86_399_999, '1970-01-01'],
  [86_400_000, '1970-01-02'],
  [Date.UTC(2026, 1, 28, 23, 59, 59, 999), '2026-02-28'],
])('%i is in %s', (time, day) => {
  expect(dayOf(time)).toBe(day);
});
