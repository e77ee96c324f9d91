/**
 * The withdrawal of files, and of uploads that were not completed (decisions 3): of at most 10 bytes, made at version
 * 60.
 */
import { describe, expect, test } from '@jest/globals';

import { here, when } from '../../../support/decisions.ts';
import { checkUpload, completeUpload, deleteUpload } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import { afterSteps, type UploadStep } from '../../../support/upload-steps.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Request } from '../../../support/requests.ts';

const begin = here.time;
/** From then on the upload cannot be completed. */
const end = begin + 1000;

const fact = (data: EventData): Request => ({ data });
const completed: UploadStep = [begin, completeUpload()];
const suspended: UploadStep = [begin, fact({ type: 'TeamSuspended', teamId: 'team' })];
const resumed: UploadStep = [begin, fact({ type: 'TeamResumed', teamId: 'team' })];
const deleted: UploadStep = [begin, deleteUpload()];

const unknown = 'upload_not_found: there is no such upload';
const withdrawn = (time: number): string =>
  `upload upload: file-1 4 bytes, unclaimed since ${begin}, removed at ${time}`;

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

describe('a file', () => {
  test.each<Case>([
    [
      'is withdrawn, and gives its bytes back',
      { uploadBytes: 7 },
      [completed],
      [begin + 5, deleteUpload()],
      `ok | ${withdrawn(begin + 5)} | team 0 7 bytes`,
    ],
    ['leaves open uploads open', { openUploads: 2 }, [completed], deleted, `ok | ${withdrawn(begin)} | team 0 2 open`],
    [
      'may be withdrawn at any time',
      {},
      [completed],
      [end + 1e9, deleteUpload()],
      `ok | ${withdrawn(end + 1e9)} | team 0`,
    ],
    ['is not withdrawn twice', {}, [completed, deleted], deleted, unknown],
    [
      'is not withdrawn while its team is suspended',
      {},
      [completed, suspended],
      deleted,
      'payment_required: the team is suspended',
    ],
    [
      'is withdrawn once the suspension has ended',
      {},
      [completed, suspended, resumed],
      deleted,
      `ok | ${withdrawn(begin)} | team 0`,
    ],
    ['that was withdrawn is completed no more', {}, [completed, deleted], completed, unknown],
  ])('a deletion %s', check);

  test('that rows name is withdrawn like any other', () => {
    const state = afterSteps({}, completed);
    state.uploads.putClaim('upload', true);
    when(state, checkUpload());
    expect(shown(when(state, ...requestOf(deleted)))).toBe(
      `ok | upload upload: file-1 4 bytes, removed at ${begin} | team 0`,
    );
    expect(shown(when(state, checkUpload()))).toBe('ok');
  });

  test('that was refused cannot be withdrawn', () => {
    const state = afterSteps({ uploadBytes: 7, uploadBytesMax: 8 }, completed);
    expect(shown(when(state, ...requestOf(deleted)))).toBe(unknown);
    expect(state.teams.team('team')).toMatchObject({ uploadBytes: 7, openUploads: 0 });
  });
});

describe('an upload that was not completed', () => {
  const givenUp = (time: number): string => `upload upload: created, removed at ${time}`;
  test.each<Case>([
    [
      'is given up, and open no more',
      { openUploads: 2, uploadBytes: 7 },
      [],
      deleted,
      `ok | ${givenUp(begin)} | team 0 7 bytes 2 open`,
    ],
    [
      'is given up after its time, where nobody has looked yet',
      {},
      [],
      [end, deleteUpload()],
      `ok | ${givenUp(end)} | team 0`,
    ],
    ['is not given up where it was seen to be over', {}, [[end, checkUpload()]], [end, deleteUpload()], unknown],
    ['is not given up twice', {}, [deleted], deleted, unknown],
    [
      'is not given up while its team is suspended',
      {},
      [suspended],
      deleted,
      'payment_required: the team is suspended',
    ],
    ['that was given up is not completed', {}, [deleted], completed, unknown],
    ['that was given up is seen to be over no more', {}, [deleted], [end, checkUpload()], 'ok'],
  ])('a deletion %s', check);
});

describe('there is no upload', () => {
  test.each<Case>([
    ['of an unknown ID', {}, [], [begin, deleteUpload({ uploadId: 'unknown' })], unknown],
    ['of another team', {}, [completed], [begin, deleteUpload({ teamId: 'another' })], unknown],
    ['in another app', {}, [completed], [begin, deleteUpload({ appId: 'other' })], unknown],
    [
      'of an unknown ID, also for a suspended team',
      {},
      [suspended],
      [begin, deleteUpload({ uploadId: 'unknown' })],
      unknown,
    ],
  ])('there is no upload %s', check);
});

function requestOf([time, request]: UploadStep): [Request, typeof here] {
  return [request, { ...here, time }];
}
