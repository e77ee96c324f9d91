/** The words of refusals by quotas. */
import { describe, expect, test } from '@jest/globals';
import { planQuotas, planRefusal, quotaOfRefusal, settingRefusal } from '../../../../src/language/events/quota.ts';

describe.each(planQuotas)('a refusal by %s', (quota) => {
  test.each([planRefusal, settingRefusal])('names the quota: %p', (refusal) => {
    expect(quotaOfRefusal(refusal(quota, 12, 345))).toBe(quota);
    expect(quotaOfRefusal(`${refusal(quota, 12, 345)}; the file was deleted`)).toBe(quota);
  });
});

test.each([
  'the team is suspended',
  'the table would hold more than 5 rows',
  'the stash would have more than 2 chunks',
  "the team's plan allows 5 stars and 5 are in use",
  'name: the team has 5 tables and may have at most 5',
])('no other refusal names it: %s', (message) => {
  expect(quotaOfRefusal(message)).toBeNull();
});

test('the messages are those of existing logs', () => {
  expect(planRefusal('rows', 3, 5)).toBe("the team's plan allows 5 rows and 3 are in use");
  expect(planRefusal('uploadBytes', 3, 5)).toBe("the team's plan allows 5 bytes of files and 3 are in use");
  expect(settingRefusal('openUploads', 5, 5)).toBe(
    'the team has 5 open uploads and may have at most 5: complete them, or wait until they expire',
  );
});
