/** New uploads (spec 4.8, decisions 3 and 5): what becomes of the request at version 100. */
import { describe, expect, test } from '@jest/globals';

import { given, here, when } from '../../../support/decisions.ts';
import { createUpload } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Request } from '../../../support/requests.ts';

const created = 'ok | upload upload: created';
const made = `${created} | team 0 1 open`;
const suspended = 'payment_required: the team is suspended';
const tooMany = (open: number): string =>
  `limit_exceeded: the team has ${open} open uploads and may have at most 5: complete them, or wait until they expire`;

describe('an upload', () => {
  test.each<readonly [name: string, state: Given, request: Request, outcome: string]>([
    ['is created', {}, createUpload(), made],
    ['is of its team', {}, createUpload({ teamId: 'another' }), made],
    ['needs no table', { owner: 'nobody' }, createUpload(), made],
    ['is not created by a team that is suspended', { suspended: true }, createUpload(), suspended],
    // What a file comes to is known when it has arrived (spec 4.9).
    [
      'is created where the plan has no byte left',
      { uploadBytes: 9, uploadBytesMax: 9 },
      createUpload(),
      `${created} | team 0 9 bytes 1 open`,
    ],
    [
      'is created where the plan allows less than there is',
      { uploadBytes: 9, uploadBytesMax: 0 },
      createUpload(),
      `${created} | team 0 9 bytes 1 open`,
    ],
    ['is created where the plan allows no rows', { rowsMax: 0 }, createUpload(), made],
    ['may be the last that may be open', { openUploads: 4 }, createUpload(), `${created} | team 0 5 open`],
    ['is not created beside as many as may be open', { openUploads: 5 }, createUpload(), tooMany(5)],
    ['is not created beside more than may be open now', { openUploads: 6 }, createUpload(), tooMany(6)],
    ['is refused for a suspension first', { openUploads: 5, suspended: true }, createUpload(), suspended],
  ])('an upload %s', (_name, state, request, outcome) => {
    expect(shown(when(given(state), request))).toBe(outcome);
  });

  test('has the fields of its event, and the time of the log', () => {
    const state = given();
    const { outcome } = when(state, createUpload({ limits: { sizeMax: 7, lifeMs: 30, unclaimedLifeMs: 40 } }));
    const described = {
      id: 'upload',
      contentType: 'image/png',
      fileName: 'cat.png',
      sizeMax: 7,
      expiresAt: here.time + 30,
    };
    expect(outcome).toEqual({ status: 'applied', result: { upload: { ...described, file: null } } });
    expect(state.uploads.upload('upload')).toEqual({
      ...described,
      teamId: 'team',
      appId: 'app',
      created: 100n,
      createdAt: here.time,
      unclaimedLifeMs: 40,
      file: null,
      unclaimedSince: null,
      removedAt: null,
    });
  });

  test('counts as open for later ones, and has no limit if its event has none', () => {
    const state = given({ openUploads: 4 });
    when(state, createUpload({ uploadId: 'fifth' }));
    expect(shown(when(state, createUpload()))).toBe(tooMany(5));
    expect(state.teams.team('team')).toMatchObject({ openUploads: 5 });
    const { data } = createUpload();
    if (data.type !== 'UploadCreateRequested') throw new Error(data.type);
    const { openMax, ...limits } = data.limits;
    expect(openMax).toBe(5);
    expect(shown(when(state, { data: { ...data, limits } }))).toBe(`${created} | team 0 6 open`);
  });

  test('that was refused does not exist', () => {
    const state = given({ suspended: true });
    when(state, createUpload());
    expect(state.uploads.upload('upload')).toBeNull();
  });
});
