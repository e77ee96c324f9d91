/** The completion of uploads (spec 4.9, decisions 3 and 5): one of at most 10 bytes, made at version 60. */
import { describe, expect, test } from '@jest/globals';

import { here, when } from '../../../support/decisions.ts';
import { checkUpload, completeUpload, createUpload } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import { afterSteps, type UploadStep } from '../../../support/upload-steps.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Request } from '../../../support/requests.ts';

const begin = here.time;
const end = begin + 1000;

const fact = (data: EventData): Request => ({ data });
const suspend = fact({ type: 'TeamSuspended', teamId: 'team' });
const resume = fact({ type: 'TeamResumed', teamId: 'team' });
const plan = (uploadBytesMax: number | null): Request => fact({ type: 'TeamPlanSet', teamId: 'team', uploadBytesMax });

const unknown = 'upload_not_found: there is no such upload';
const expired = 'upload_not_found: the upload has expired';
const suspended = 'payment_required: the team is suspended';
const tooLarge = 'payload_too_large: the file has 11 bytes, more than 10; it was deleted';
const overPlan = (max: number, used: number): string =>
  `payment_required: the team's plan allows ${max} bytes of files and ${used} are in use; the file was deleted`;
const completed = (name: string, size: number, time = begin): string =>
  `upload upload: ${name} ${size} bytes, unclaimed since ${time}`;
const givenUp = (size: number, bytesUsed: number, time = begin): string =>
  `upload upload: file-1 ${size} bytes, removed at ${time} | team 0${bytesUsed === 0 ? '' : ` ${bytesUsed} bytes`}`;

type Case = readonly [name: string, state: Given, before: readonly UploadStep[], step: UploadStep, outcome: string];

function check(
  _name: string,
  state: Given,
  before: readonly UploadStep[],
  [time, request]: UploadStep,
  outcome: string,
): void {
  expect(shown(when(afterSteps(state, ...before), request, { ...here, time }))).toBe(outcome);
}

const first: UploadStep = [begin, completeUpload()];

describe('an upload', () => {
  test.each<Case>([
    ['is completed', {}, [], first, `ok | ${completed('file-1', 4)} | team 0 4 bytes`],
    ['may be empty', {}, [], [begin, completeUpload({ size: 0 })], `ok | ${completed('file-1', 0)} | team 0`],
    [
      'is completed in its last moment',
      {},
      [],
      [end - 1, completeUpload()],
      `ok | ${completed('file-1', 4, end - 1)} | team 0 4 bytes`,
    ],
    [
      'may be as large as it may be',
      {},
      [],
      [begin, completeUpload({ size: 10 })],
      `ok | ${completed('file-1', 10)} | team 0 10 bytes`,
    ],
    ['leaves others open', { openUploads: 2 }, [], first, `ok | ${completed('file-1', 4)} | team 0 4 bytes 2 open`],
    [
      'counts beside other files',
      { uploadBytes: 7, otherRows: 3 },
      [],
      first,
      `ok | ${completed('file-1', 4)} | team 3 11 bytes`,
    ],
    [
      'may use up the plan',
      { uploadBytes: 5, uploadBytesMax: 9 },
      [],
      first,
      `ok | ${completed('file-1', 4)} | team 0 9 bytes`,
    ],
    [
      'does not count to the plan of rows',
      { rowsMax: 0 },
      [],
      first,
      `ok | ${completed('file-1', 4)} | team 0 4 bytes`,
    ],
    [
      'that is empty needs no room in the plan',
      { uploadBytes: 9, uploadBytesMax: 5 },
      [],
      [begin, completeUpload({ size: 0 })],
      `ok | ${completed('file-1', 0)} | team 0 9 bytes`,
    ],
    [
      'is completed once the suspension has ended',
      {},
      [[begin, suspend], first, [begin, resume]],
      first,
      `ok | ${completed('file-1', 4)} | team 0 4 bytes`,
    ],
    [
      'is completed under the plan of then',
      { uploadBytesMax: 0 },
      [[begin, plan(4)]],
      first,
      `ok | ${completed('file-1', 4)} | team 0 4 bytes`,
    ],
  ])('an upload %s', check);
});

describe('completed again', () => {
  const name = 'file-2';
  test.each<Case>([
    ['it stays what it is', {}, [first], first, 'ok'],
    ['with another file too', {}, [first], [begin + 5, completeUpload({ name })], 'ok'],
    ['with one that is too large too', {}, [first], [begin, completeUpload({ name, size: 11 })], 'ok'],
    [
      'where the plan has no room for it twice',
      { uploadBytesMax: 4 },
      [first],
      [begin, completeUpload({ name })],
      'ok',
    ],
    [
      'where the plan has no room for it any more',
      {},
      [first, [begin, plan(3)]],
      [begin, completeUpload({ name })],
      'ok',
    ],
    ['after the time in which it had to be', {}, [first], [end + 1e9, completeUpload({ name })], 'ok'],
    ['by a team that is suspended, it is refused', {}, [first, [begin, suspend]], first, suspended],
    [
      'by a team that was suspended, it stays what it is',
      {},
      [first, [begin, suspend], first, [begin, resume]],
      first,
      'ok',
    ],
  ])('an upload that is completed again %s', check);

  test('gets the first answer', () => {
    const state = afterSteps({});
    const { outcome } = when(state, completeUpload());
    expect(outcome).toMatchObject({ status: 'applied', result: { upload: { id: 'upload', file: 'file-1' } } });
    const again = when(state, completeUpload({ name, size: 9 }), { ...here, version: 101n, time: end });
    expect(again.outcome).toEqual(outcome);
    expect(state.teams.team('team')).toMatchObject({ uploadBytes: 4, openUploads: 0 });
  });
});

describe('a completion is refused, by all of the following reasons that apply,', () => {
  const large = completeUpload({ size: 11 });
  const wrong: Given = { uploadBytes: 5, uploadBytesMax: 8 };
  const suspension: UploadStep = [begin, suspend];
  test.each<Case>([
    ['of an unknown upload', wrong, [suspension], [end, completeUpload({ uploadId: 'unknown', size: 11 })], unknown],
    ["of another team's", wrong, [suspension], [end, completeUpload({ teamId: 'another', size: 11 })], unknown],
    ["of another app's", wrong, [suspension], [end, completeUpload({ appId: 'App', size: 11 })], unknown],
    ['of one that was given up', wrong, [[begin, large], suspension], [end, large], unknown],
    ['of one that was said to be over', wrong, [[end, checkUpload()], suspension], [end, large], unknown],
    ['of one whose time is over, which nobody said', wrong, [suspension], [end, large], expired],
    ['by a team that is suspended', wrong, [suspension], [end - 1, large], suspended],
    [
      'with more bytes than it may have, and gives it up',
      wrong,
      [],
      [end - 1, large],
      `${tooLarge} | ${givenUp(11, 5, end - 1)}`,
    ],
    [
      'with more bytes than the plan has left, and gives it up',
      wrong,
      [],
      first,
      `${overPlan(8, 5)} | ${givenUp(4, 5)}`,
    ],
    [
      'with more than it may have, and leaves others open',
      { openUploads: 2 },
      [],
      [begin, large],
      `${tooLarge} | ${givenUp(11, 0)} 2 open`,
    ],
    ['with a byte more than it has left', { uploadBytesMax: 3 }, [], first, `${overPlan(3, 0)} | ${givenUp(4, 0)}`],
    ['under a plan that allows nothing', { uploadBytesMax: 0 }, [], first, `${overPlan(0, 0)} | ${givenUp(4, 0)}`],
    [
      'under a plan that allows less than there is',
      { uploadBytes: 9, uploadBytesMax: 5 },
      [],
      first,
      `${overPlan(5, 9)} | ${givenUp(4, 9)}`,
    ],
  ])('a completion is refused %s', check);

  test('a refused completion uses nothing of the plan', () => {
    const state = afterSteps({ uploadBytes: 5, uploadBytesMax: 8 }, first);
    expect(state.teams.team('team')).toMatchObject({ uploadBytes: 5 });
    when(state, createUpload({ uploadId: 'next' }));
    expect(shown(when(state, completeUpload({ uploadId: 'next', name: 'file-2', size: 3 })))).toBe(
      `ok | upload next: file-2 3 bytes, unclaimed since ${begin} | team 0 8 bytes`,
    );
  });

  test('by a suspension, and can be completed later', () => {
    const state = afterSteps({}, [begin, suspend]);
    expect(when(state, completeUpload()).changes).toEqual([]);
    expect(state.uploads.upload('upload')).toMatchObject({ file: null, removedAt: null });
  });
});
