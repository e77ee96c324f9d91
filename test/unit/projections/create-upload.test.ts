/** New uploads (spec 4.8, decisions 3 and 5): what becomes of the request at version 100. */
import { describe, expect, test } from '@jest/globals';

import { createUpload, given, here, when } from '../../support/decisions.ts';
import { shown } from '../../support/shown-decisions.ts';
import type { Given, Request } from '../../support/decisions.ts';

const made = 'ok | upload upload: created';
const suspended = 'payment_required: the team is suspended';

describe('an upload', () => {
  test.each<readonly [name: string, state: Given, request: Request, outcome: string]>([
    ['is created', {}, createUpload(), made],
    ['is of its team', {}, createUpload({ teamId: 'another' }), made],
    ['needs no table', { owner: 'nobody' }, createUpload(), made],
    ['is not created by a team that is suspended', { suspended: true }, createUpload(), suspended],
    // What a file comes to is known when it has arrived (spec 4.9).
    ['is created where the plan has no byte left', { uploadBytes: 9, uploadBytesMax: 9 }, createUpload(), made],
    ['is created where the plan allows less than there is', { uploadBytes: 9, uploadBytesMax: 0 }, createUpload(), made],
    ['is created where the plan allows no rows', { rowsMax: 0 }, createUpload(), made],
  ])('%s', (_name, state, request, outcome) => {
    expect(shown(when(given(state), request))).toBe(outcome);
  });

  test('keeps what its event says, and the time of the log', () => {
    const state = given();
    const { outcome } = when(state, createUpload({ limits: { sizeMax: 7, lifeMs: 30, unclaimedLifeMs: 40 } }));
    const described = { id: 'upload', contentType: 'image/png', fileName: 'cat.png', sizeMax: 7, expiresAt: here.time + 30 };
    expect(outcome).toEqual({ status: 'applied', result: { upload: { ...described, file: null } } });
    expect(state.upload('upload')).toEqual({
      ...described, teamId: 'team', appId: 'app', created: 100n, createdAt: here.time, unclaimedLifeMs: 40, file: null,
      unclaimedSince: null, removedAt: null,
    });
  });

  test('that was refused is none', () => {
    const state = given({ suspended: true });
    when(state, createUpload());
    expect(state.upload('upload')).toBeNull();
  });
});
