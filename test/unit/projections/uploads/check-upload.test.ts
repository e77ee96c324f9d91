/** Looks at uploads (spec section 3, decisions 5): whether their time is over, and whether rows name their files. */
import { describe, expect, test } from '@jest/globals';

import { given, here, when } from '../../../support/decisions.ts';
import { checkUpload, completeUpload, createUpload } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { States } from '../../../../projections/models.ts';

const begin = here.time;
/** From then on the upload cannot be completed. */
const end = begin + 1000;
/** For how long a file is kept that no row names. */
const life = 500;

/**
 * What happens at a time: a completion, a suspension, or a look when rows name the file (`claimed`) or do not
 * (`unclaimed`).
 */
type Step = readonly [time: number, what: 'completed' | 'suspended' | 'claimed' | 'unclaimed'];

function run(state: States, [time, what]: Step): string {
  const at = { ...here, version: 61n, time };
  if (what === 'completed') return shown(when(state, completeUpload(), at));
  if (what === 'suspended') return shown(when(state, { data: { type: 'TeamSuspended', teamId: 'team' } }, at));
  state.uploads.putClaim('upload', what === 'claimed');
  return shown(when(state, checkUpload(), at));
}

/** The state of a team with 7 bytes of other files after the creation, and these steps. */
function after(...steps: readonly Step[]): States {
  const state = given({ uploadBytes: 7 });
  when(state, createUpload(), { ...here, version: 60n });
  for (const step of steps) run(state, step);
  return state;
}

type Case = readonly [name: string, before: readonly Step[], look: Step, outcome: string];

function check(_name: string, before: readonly Step[], look: Step, outcome: string): void {
  expect(run(after(...before), look)).toBe(outcome);
}

describe('an upload that was not completed', () => {
  const removed = (time: number): string => `ok | upload upload: created, removed at ${time} | team 0 7 bytes`;
  test.each<Case>([
    ['stays until its time is over, and open', [], [end - 1, 'unclaimed'], 'ok'],
    ['is removed when its time is over, and open no more', [], [end, 'unclaimed'], removed(end)],
    ['is removed later', [], [end + 1e9, 'unclaimed'], removed(end + 1e9)],
    ['is removed from a team that is suspended', [[begin, 'suspended']], [end, 'unclaimed'], removed(end)],
    ['is removed once', [[end, 'unclaimed']], [end + 1, 'unclaimed'], 'ok'],
  ])('an upload that was not completed %s', check);

  test('is open until somebody checks, whether its time is over or not', () => {
    const state = after([end - 1, 'unclaimed']);
    expect(state.teams.team('team')).toMatchObject({ openUploads: 1 });
    expect(run(state, [end, 'completed'])).toBe('upload_not_found: the upload has expired');
    expect(state.teams.team('team')).toMatchObject({ openUploads: 1 });
    for (const time of [end, end + 1]) run(state, [time, 'unclaimed']);
    expect(state.teams.team('team')).toMatchObject({ openUploads: 0 });
  });

  test('needs no look-up of rows', () => {
    expect(shown(when(after(), checkUpload(), { ...here, time: end }))).toBe(removed(end));
  });
});

describe('a file', () => {
  const done = begin + 100;
  const completed: Step = [done, 'completed'];
  const over = done + life;
  const since = (time: number): string => `upload upload: file-1 4 bytes, unclaimed since ${time}`;
  const removed = (from: number, time: number): string => `ok | ${since(from)}, removed at ${time} | team 0 7 bytes`;
  const isClaimed = 'ok | upload upload: file-1 4 bytes, claimed';

  test.each<Case>([
    ['that no row names is kept for a time', [completed], [over - 1, 'unclaimed'], 'ok'],
    ['is removed at the end of it, and gives its bytes back', [completed], [over, 'unclaimed'], removed(done, over)],
    ['is removed later', [completed], [over + 1e9, 'unclaimed'], removed(done, over + 1e9)],
    [
      'is removed while its team is suspended',
      [completed, [done, 'suspended']],
      [over, 'unclaimed'],
      removed(done, over),
    ],
    ['is removed once, and gives its bytes back once', [completed, [over, 'unclaimed']], [over + 1, 'unclaimed'], 'ok'],
    ['is not removed by the end of its upload', [completed, [done, 'claimed']], [end, 'claimed'], 'ok'],
    ['that a row names has no time', [completed], [over - 1, 'claimed'], isClaimed],
    ['that a row names stays, though nobody said so in time', [completed], [over + 1e9, 'claimed'], isClaimed],
    ['that a row names is no other for another look', [completed, [done, 'claimed']], [over, 'claimed'], 'ok'],
    [
      'that no row names any more has its whole time',
      [completed, [done, 'claimed']],
      [over + 7, 'unclaimed'],
      `ok | ${since(over + 7)}`,
    ],
    ['has it to its end', [completed, [done, 'claimed'], [over, 'unclaimed']], [over + life - 1, 'unclaimed'], 'ok'],
    [
      'is removed when that is over',
      [completed, [done, 'claimed'], [over, 'unclaimed']],
      [over + life, 'unclaimed'],
      removed(over, over + life),
    ],
    ['is named again', [completed, [done, 'claimed'], [over, 'unclaimed']], [over + life, 'claimed'], isClaimed],
    [
      'that was removed does not come back when a row names it',
      [completed, [over, 'unclaimed']],
      [over + 1, 'claimed'],
      'ok',
    ],
  ])('a file %s', check);

  test('that was refused frees no bytes', () => {
    const state = given({ uploadBytes: 7, uploadBytesMax: 8 });
    for (const request of [createUpload(), completeUpload(), checkUpload()])
      when(state, request, { ...here, time: begin + 1 });
    expect(state.uploads.upload('upload')).toMatchObject({ file: { name: 'file-1', size: 4 }, removedAt: begin + 1 });
    expect(run(state, [end + life, 'unclaimed'])).toBe('ok');
    expect(state.teams.team('team')).toMatchObject({ uploadBytes: 7, openUploads: 0 });
  });

  test('cannot be completed again once it was removed', () => {
    expect(run(after(completed, [over, 'unclaimed']), [over, 'completed'])).toBe(
      'upload_not_found: there is no such upload',
    );
  });

  test('whose rows were not looked up is a bug, never an answer', () => {
    expect(() => when(after(completed), checkUpload())).toThrow(
      'the claims on the file of upload upload were not loaded',
    );
  });
});

describe('a check', () => {
  test.each([
    ['an unknown upload', { uploadId: 'unknown' }],
    ['an upload of another team', { teamId: 'another' }],
  ])('changes nothing for %s', (_name, of) => {
    const state = after([begin, 'completed']);
    state.uploads.putClaim('upload', false);
    expect(shown(when(state, checkUpload(of), { ...here, time: end + life }))).toBe('ok');
  });

  test('by another team changes no upload that was not completed', () => {
    expect(shown(when(after(), checkUpload({ teamId: 'another' }), { ...here, time: end }))).toBe('ok');
  });
});
