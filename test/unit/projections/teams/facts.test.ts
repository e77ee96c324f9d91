/** Facts: teams, their plans and tokens, blocks. They are never refused; what makes no sense changes nothing. */
import { describe, expect, test } from '@jest/globals';

import type { Team, Token } from '../../../../projections/teams/team.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import { noPlanLimits, noUsage } from '../../../../src/language/events/quota.ts';
import { emptyProfile } from '../../../../src/language/values/build-profile.ts';
import { decide, given, here, openStates, when } from '../../../support/decisions.ts';
import { eventOf } from '../../../support/requests.ts';

const team: Team = {
  id: 'team',
  partition: 3,
  name: 'Team',
  created: 1n,
  suspended: false,
  ...noUsage,
  ...noPlanLimits,
  rows: 7,
  openUploads: 2,
};
const token: Token = {
  id: 'token',
  teamId: 'team',
  name: 'CI',
  hash: 'ff',
  created: 2n,
  createdAt: 5,
  endsIn: null,
  expiresAt: null,
  readOnly: false,
  appId: null,
  revoked: false,
};
const another: Token = { ...token, id: 'other', teamId: 'another' };

/** What becomes of the team and its tokens. */
function changes(...facts: readonly EventData[]): unknown[] {
  const state = openStates();
  state.teams.put(team);
  state.teams.putToken(token);
  state.teams.putToken(another);
  return facts.flatMap((data) => {
    const decision = when(state, { data });
    expect(decision.outcome).toEqual({ status: 'applied', result: {}, etag: undefined });
    return decision.changes.map((change) =>
      change.kind === 'team' ? change.team : change.kind === 'token' ? change.token : change,
    );
  });
}

const teamId = 'team';
const created = {
  type: 'TokenCreated',
  teamId,
  tokenId: 'new',
  name: 'Laptop',
  hash: 'ee',
  expiresAt: null,
  readOnly: false,
  appId: null,
  endsIn: '9c41f0',
} as const;
const made: Token = {
  id: 'new',
  teamId,
  name: 'Laptop',
  hash: 'ee',
  created: 100n,
  createdAt: here.time,
  endsIn: '9c41f0',
  expiresAt: null,
  readOnly: false,
  appId: null,
  revoked: false,
};

describe('a fact', () => {
  test.each<[name: string, fact: EventData, changes: readonly (Team | Token)[]]>([
    [
      'a team is created',
      { type: 'TeamCreated', teamId: 'new', name: 'New' },
      [
        {
          id: 'new',
          partition: 3,
          name: 'New',
          created: 100n,
          suspended: false,
          rows: 0,
          rowsMax: null,
          tables: 0,
          tablesMax: null,
          stashes: 0,
          stashesMax: null,
          openBodies: 0,
          openBodiesMax: null,
          openUploads: 0,
          openUploadsMax: null,
          openUploadBytes: 0,
          openUploadBytesMax: null,
          uploadBytes: 0,
          uploadBytesMax: null,
          logBytesPerDayMax: null,
        },
      ],
    ],
    ['a team that is there stays as it is', { type: 'TeamCreated', teamId, name: 'Again' }, []],
    ['a team is suspended', { type: 'TeamSuspended', teamId }, [{ ...team, suspended: true }]],
    ['a team that was not suspended is resumed', { type: 'TeamResumed', teamId }, [team]],
    ['a team has a plan', { type: 'TeamPlanSet', teamId, rowsMax: 3 }, [{ ...team, rowsMax: 3 }]],
    [
      'a plan limits bytes of the log',
      { type: 'TeamPlanSet', teamId, logBytesPerDayMax: 5 },
      [{ ...team, logBytesPerDayMax: 5 }],
    ],
    ['a plan limits files', { type: 'TeamPlanSet', teamId, uploadBytesMax: 5 }, [{ ...team, uploadBytesMax: 5 }]],
    [
      'a plan limits all that it names',
      {
        type: 'TeamPlanSet',
        teamId,
        tablesMax: 1,
        stashesMax: 2,
        openBodiesMax: 3,
        openUploadsMax: 4,
        openUploadBytesMax: 5,
      },
      [{ ...team, tablesMax: 1, stashesMax: 2, openBodiesMax: 3, openUploadsMax: 4, openUploadBytesMax: 5 }],
    ],
    ['a plan may allow nothing', { type: 'TeamPlanSet', teamId, rowsMax: 0 }, [{ ...team, rowsMax: 0 }]],
    ['a token is created', created, [made]],
    [
      'a token with limits is created',
      { ...created, expiresAt: 7, readOnly: true, appId: 'app' },
      [{ ...made, expiresAt: 7, readOnly: true, appId: 'app' }],
    ],
    ['a token that is there stays as it is', { ...created, tokenId: 'token' }, []],
    ["so does another team's", { ...created, tokenId: 'other' }, []],
    ['a token is revoked', { type: 'TokenRevoked', teamId, tokenId: 'token' }, [{ ...token, revoked: true }]],
    ["another team's token is not", { type: 'TokenRevoked', teamId, tokenId: 'other' }, []],
    ['an unknown token is not', { type: 'TokenRevoked', teamId, tokenId: 'unknown' }, []],
    ['an unknown team is not suspended', { type: 'TeamSuspended', teamId: 'unknown' }, []],
    ['an unknown team is not resumed', { type: 'TeamResumed', teamId: 'unknown' }, []],
    ['an unknown team has no plan', { type: 'TeamPlanSet', teamId: 'unknown', rowsMax: 3 }, []],
    ['an unknown team has no tokens', { ...created, teamId: 'unknown' }, []],
    ['a log begins', { type: 'GenerationStarted', logId: 'log', base: 9n }, []],
  ])('the fact changes the model: %s', (_name, fact, expected) => expect(changes(fact)).toEqual(expected));
});

describe('facts in a row', () => {
  test('end a suspension', () => {
    expect(changes({ type: 'TeamSuspended', teamId }, { type: 'TeamResumed', teamId }).at(-1)).toEqual(team);
  });

  test('remove a limit by a plan without it', () => {
    const plan = (rowsMax: number | null): EventData => ({ type: 'TeamPlanSet', teamId, rowsMax });
    expect(changes(plan(3), plan(null)).at(-1)).toEqual(team);
  });

  test('never bring back a revoked token', () => {
    expect(changes(created, { type: 'TokenRevoked', teamId, tokenId: 'new' }, created)).toMatchObject([
      { id: 'new', revoked: false },
      { id: 'new', revoked: true },
    ]);
  });
});

describe('a block', () => {
  const data = {
    type: 'BlockReceived',
    teamId,
    bodyId: 'body',
    number: 2,
    segmentId: 'segment',
    profile: emptyProfile,
  } as const;

  test('waits for its body, with its segment and the time of its arrival', () => {
    expect(when(given(), { data }).changes).toEqual([
      {
        kind: 'bodyBlock',
        block: { bodyId: 'body', number: 2, teamId, segment: 900n, profile: emptyProfile, ids: null, time: here.time },
      },
    ]);
  });

  test('whose segment was not written is a bug', () => {
    expect(() => decide(given(), eventOf({ data }), here)).toThrow('segment segment was not written');
  });
});

test('a refusal from before the append is the outcome', () => {
  const refusal = { type: 'table_not_found', message: 'there is no such table' } as const;
  expect(when(given(), { data: { type: 'RequestRefused', teamId, refusal } })).toEqual({
    outcome: { status: 'refused', refusal },
    changes: [],
  });
});

test('an event that this version does not know is never skipped', () => {
  const data = { type: 'RowsForgotten', teamId } as unknown as EventData;
  expect(() => when(given(), { data })).toThrow('an event of the unknown type RowsForgotten');
});
