import { describe, expect, test } from '@jest/globals';

import { InvalidRequest } from '../../../commands/invalid-request.ts';
import { resumeTeam, setPlan, suspendTeam } from '../../../commands/plans.ts';
import { noPlanLimits } from '../../../src/language/events/quota.ts';

const teamId = 'team';

describe('a command on plans becomes a fact', () => {
  test.each([
    [suspendTeam(teamId), { type: 'TeamSuspended', teamId }],
    [resumeTeam(teamId), { type: 'TeamResumed', teamId }],
    [setPlan(teamId, { rowsMax: 0 }), { type: 'TeamPlanSet', teamId, rowsMax: 0 }],
    [setPlan(teamId, { rowsMax: null }), { type: 'TeamPlanSet', teamId, rowsMax: null }],
    [setPlan(teamId, { uploadBytesMax: 0 }), { type: 'TeamPlanSet', teamId, uploadBytesMax: 0 }],
    [
      setPlan(teamId, { rowsMax: 1, uploadBytesMax: null }),
      { type: 'TeamPlanSet', teamId, rowsMax: 1, uploadBytesMax: null },
    ],
    [
      setPlan(teamId, { tablesMax: 1, stashesMax: 2, openBodiesMax: 3, openUploadsMax: 4, openUploadBytesMax: null }),
      {
        type: 'TeamPlanSet',
        teamId,
        tablesMax: 1,
        stashesMax: 2,
        openBodiesMax: 3,
        openUploadsMax: 4,
        openUploadBytesMax: null,
      },
    ],
    [setPlan(teamId, { rowsMax: 2 ** 53 - 1 }), { type: 'TeamPlanSet', teamId, rowsMax: 2 ** 53 - 1 }],
  ])("the plan's command becomes the fact %j", (event, expected) => expect(event).toStrictEqual(expected));
});

describe.each(Object.keys(noPlanLimits))('a plan whose %s', (name) => {
  test.each([
    ['is less than nothing', -1],
    ['is half a thing', 1.5],
    ['is no number', Number.NaN],
    ['has no end', Number.POSITIVE_INFINITY],
    ['is more than a number counts', 2 ** 53],
  ])('%s is refused', (_name, limit) => {
    expect(() => setPlan(teamId, { [name]: limit })).toThrow(InvalidRequest);
  });
});
