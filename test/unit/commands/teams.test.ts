import { describe, expect, test } from '@jest/globals';

import { InvalidRequest } from '../../../commands/invalid-request.ts';
import { createTeam, createToken, revokeToken } from '../../../commands/teams.ts';

const hash = Buffer.from('00ff', 'hex');

describe('a command on teams becomes a fact', () => {
  test.each([
    [createTeam('team', 'Ada & Co'), { type: 'TeamCreated', teamId: 'team', name: 'Ada & Co' }],
    [
      createToken('team', 'token', 'CI', hash),
      {
        type: 'TokenCreated',
        teamId: 'team',
        tokenId: 'token',
        name: 'CI',
        hash: '00ff',
        expiresAt: null,
        readOnly: false,
        appId: null,
      },
    ],
    [
      createToken('team', 'token', 'CI', hash, { expiresAt: 5, readOnly: true, appId: 'app 1', endsIn: '9c41f0' }),
      {
        type: 'TokenCreated',
        teamId: 'team',
        tokenId: 'token',
        name: 'CI',
        hash: '00ff',
        expiresAt: 5,
        readOnly: true,
        appId: 'app 1',
        endsIn: '9c41f0',
      },
    ],
    [revokeToken('team', 'token'), { type: 'TokenRevoked', teamId: 'team', tokenId: 'token' }],
  ])('the command becomes the fact %j', (event, expected) => expect(event).toEqual(expected));
});

describe('an invalid command is refused', () => {
  test.each<[name: string, ask: () => unknown]>([
    ['a team without a name', () => createTeam('team', '')],
    ['a team with a blank name', () => createTeam('team', ' \t\u00a0')],
    ['a team with a name too long', () => createTeam('team', 'x'.repeat(257))],
    ['a team whose name cannot be stored', () => createTeam('team', 'a\0')],
    ['a token without a name', () => createToken('team', 'token', '', hash)],
    ['a token with a blank name', () => createToken('team', 'token', ' ', hash)],
    ['a token whose name cannot be stored', () => createToken('team', 'token', '\ud800', hash)],
    ['a token that expires at no time', () => createToken('team', 'token', 'CI', hash, { expiresAt: Number.NaN })],
    ['a token that expires before there was time', () => createToken('team', 'token', 'CI', hash, { expiresAt: -1 })],
    ['a token of an app without a name', () => createToken('team', 'token', 'CI', hash, { appId: '' })],
    [
      'a token of an app with a name too long',
      () => createToken('team', 'token', 'CI', hash, { appId: 'x'.repeat(257) }),
    ],
    ['a token of an app whose name cannot be stored', () => createToken('team', 'token', 'CI', hash, { appId: 'a\0' })],
  ])('the command refuses %s', (_name, ask) => expect(ask).toThrow(InvalidRequest));
});
