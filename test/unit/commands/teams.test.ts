import { describe, expect, test } from '@jest/globals';

import { InvalidRequest } from '../../../commands/invalid-request.ts';
import { createTeam, createToken, resumeTeam, revokeToken, setPlan, suspendTeam } from '../../../commands/teams.ts';

const hash = Buffer.from('00ff', 'hex');

describe('what the command line asks becomes a fact', () => {
  test.each([
    [createTeam('team', 'Ada & Co'), { type: 'TeamCreated', teamId: 'team', name: 'Ada & Co' }],
    [suspendTeam('team'), { type: 'TeamSuspended', teamId: 'team' }],
    [resumeTeam('team'), { type: 'TeamResumed', teamId: 'team' }],
    [setPlan('team', 0), { type: 'TeamPlanSet', teamId: 'team', rowsMax: 0 }],
    [setPlan('team', null), { type: 'TeamPlanSet', teamId: 'team', rowsMax: null }],
    [
      createToken('team', 'token', 'CI', hash),
      { type: 'TokenCreated', teamId: 'team', tokenId: 'token', name: 'CI', hash: '00ff' },
    ],
    [revokeToken('team', 'token'), { type: 'TokenRevoked', teamId: 'team', tokenId: 'token' }],
  ])('%j', (event, expected) => expect(event).toEqual(expected));
});

describe('what makes no sense is refused', () => {
  test.each<[name: string, ask: () => unknown]>([
    ['a team without a name', () => createTeam('team', '')],
    ['a team with a blank name', () => createTeam('team', ' \t\u00a0')],
    ['a team with a name too long', () => createTeam('team', 'x'.repeat(257))],
    ['a team whose name cannot be stored', () => createTeam('team', 'a\0')],
    ['a token without a name', () => createToken('team', 'token', '', hash)],
    ['a token with a blank name', () => createToken('team', 'token', ' ', hash)],
    ['a token whose name cannot be stored', () => createToken('team', 'token', '\ud800', hash)],
    ['a plan of less than nothing', () => setPlan('team', -1)],
    ['a plan of half a row', () => setPlan('team', 1.5)],
    ['a plan that is no number', () => setPlan('team', Number.NaN)],
    ['a plan without end', () => setPlan('team', Number.POSITIVE_INFINITY)],
    ['a plan that a number cannot hold', () => setPlan('team', 2 ** 53)],
  ])('%s', (_name, ask) => expect(ask).toThrow(InvalidRequest));
});
