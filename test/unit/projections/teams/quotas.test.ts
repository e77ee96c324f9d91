/** Quotas (docs/reference/limits.md): which requests they refuse, and what counts to them. */
import { describe, expect, test } from '@jest/globals';

import type { LogPlace } from '../../../../src/log/batch/decision.ts';
import { quotas, type PlanLimits, type Usage } from '../../../../src/language/events/quota.ts';
import { given, here, when, type Given } from '../../../support/decisions.ts';
import {
  add,
  block,
  body,
  checkUpload,
  completeUpload,
  create,
  createUpload,
  deleteStash,
  expireBody,
  expireStash,
  noRows,
  openBody,
  overwrite,
  putChunk,
  removeTable,
  type AskedChunk,
  type Request,
  type Rows,
} from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';

const hour = 3_600_000;
const one = '{"a":1}';
const large = body([0, one], [0, one]);

/** A request, and how many milliseconds after `here` it is decided. */
type Step = Request | readonly [later: number, request: Request];

const isLater = (step: Step): step is readonly [number, Request] => Array.isArray(step);

/**
 * The outcome of the last of these requests, without its changes; and what the team uses after it, without what it does
 * not.
 */
function after(state: Given, ...steps: readonly Step[]): { readonly outcome: string; readonly used: Partial<Usage> } {
  const states = given({ owner: 'nobody', ...state });
  let outcome = '';
  steps.forEach((step, at) => {
    const [later, request] = isLater(step) ? step : [0, step];
    const place: LogPlace = { ...here, version: 100n + BigInt(at), time: here.time + later };
    outcome = shown(when(states, request, place), place)
      .split(' | ')[0]!
      .replace(/^ok.*/, 'ok');
  });
  const team = states.teams.known('team');
  return {
    outcome,
    used: Object.fromEntries(quotas.filter((quota) => team[quota] !== 0).map((quota) => [quota, team[quota]])),
  };
}

const table = (tablesMax?: number): Request =>
  create(noRows, { schema: 'a:number', ...(tablesMax === undefined ? {} : { tablesMax }) });
const chunk = (stashId = 'stash', asked: AskedChunk = {}, rows: Rows = block(one)): Request =>
  putChunk(rows, '1', asked, stashId);
const upload = (uploadId: string, limits: { openMax?: number; openBytesMax?: number } = {}): Request =>
  createUpload({ uploadId, limits });

describe('a setting limits what a team may have, unless its plan has another limit', () => {
  type Case = readonly [
    name: string,
    used: Partial<Usage>,
    request: Request,
    plan: (max: number | null) => Partial<PlanLimits>,
    noun: string,
    remedy: string,
  ];
  test.each<Case>([
    ['tables', { tables: 5 }, table(5), (tablesMax) => ({ tablesMax }), 'tables', 'delete some'],
    [
      'stashes',
      { stashes: 5 },
      chunk('new', { stashesMax: 5 }),
      (stashesMax) => ({ stashesMax }),
      'stashes',
      'delete some, or wait until they expire',
    ],
    [
      'open bodies',
      { openBodies: 5 },
      openBody({ openMax: 5 }),
      (openBodiesMax) => ({ openBodiesMax }),
      'open bodies',
      'wait until they have arrived; what was cut off counts for an hour',
    ],
    [
      'open uploads',
      { openUploads: 5 },
      upload('u', { openMax: 5 }),
      (openUploadsMax) => ({ openUploadsMax }),
      'open uploads',
      'complete them, or wait until they expire',
    ],
  ])('a setting allows so many %s, unless a plan says otherwise', (_name, used, request, plan, noun, remedy) => {
    const refused = { outcome: `limit_exceeded: the team has 5 ${noun} and may have at most 5: ${remedy}`, used };
    const byPlan = (max: number) => ({
      outcome: `payment_required: the team's plan allows ${max} ${noun} and 5 are in use`,
      used,
    });
    const taken = Object.fromEntries(Object.entries(used).map(([quota, count]) => [quota, count + 1]));
    const less = Object.fromEntries(Object.entries(used).map(([quota, count]) => [quota, count - 1]));
    expect(after({ team: used }, request)).toEqual(refused);
    expect(after({ team: less }, request)).toMatchObject({ outcome: 'ok', used });
    expect(after({ team: { ...used, ...plan(6) } }, request)).toMatchObject({ outcome: 'ok', used: taken });
    for (const max of [5, 3, 0]) expect(after({ team: { ...used, ...plan(max) } }, request)).toEqual(byPlan(max));
    expect(
      after(
        { team: { ...used, ...plan(7) } },
        { data: { type: 'TeamPlanSet', teamId: 'team', ...plan(null) } },
        request,
      ),
    ).toEqual(refused);
  });

  test('bytes of open uploads, each of which counts with its maximum size', () => {
    const limited = upload('u', { openBytesMax: 25 });
    const refused =
      'limit_exceeded: the team has 20 bytes of open uploads and may have at most 25: complete them, or wait until they expire';
    expect(after({ team: { openUploadBytes: 15 } }, limited)).toEqual({
      outcome: 'ok',
      used: { openUploadBytes: 25, openUploads: 1 },
    });
    expect(after({ team: { openUploadBytes: 20 } }, limited)).toEqual({
      outcome: refused,
      used: { openUploadBytes: 20 },
    });
    expect(after({ team: { openUploadBytes: 20, openUploadBytesMax: 30 } }, limited).outcome).toBe('ok');
    expect(after({ team: { openUploadBytes: 20, openUploadBytesMax: 29 } }, limited).outcome).toBe(
      "payment_required: the team's plan allows 29 bytes of open uploads and 20 are in use",
    );
  });
});

describe('an event from before a quota is decided without it, but counts:', () => {
  test.each<readonly [string, Partial<Usage>, Request, used: Partial<Usage>]>([
    ['a table', { tables: 1e6 }, table(), { tables: 1e6 + 1 }],
    ['a stash', { stashes: 1e6 }, chunk(), { stashes: 1e6 + 1 }],
    ['an upload', { openUploadBytes: 1e12 }, upload('u'), { openUploadBytes: 1e12 + 10, openUploads: 1 }],
  ])('an event from before there was a quota on %s is decided as then, and counts', (_name, team, request, used) =>
    expect(after({ team }, request)).toEqual({ outcome: 'ok', used }),
  );

  test('an event from before the quota on bodies is decided without it, and a body that nothing opened does not count', () => {
    expect(after({ owner: 'team' }, add(large))).toEqual({ outcome: 'ok', used: { rows: 2 } });
  });
});

const missing = 'table_not_found: there is no such table';
const lateBody = 'request_validation_error: the body took longer than an hour to arrive; send it again';

describe('what counts', () => {
  test.each<readonly [name: string, steps: readonly Step[], outcome: string, used: Partial<Usage>]>([
    ['a table that is created', [table()], 'ok', { tables: 1 }],
    [
      'not one that is refused',
      [create(noRows, { schema: 'a:number a:number' })],
      'column_id_not_unique: schema.columns[1].id: the column ID "a" occurs twice',
      {},
    ],
    ['not one that is not there', [removeTable()], 'ok', {}],
    ['a stash, whatever its chunks', [chunk(), chunk(), putChunk(block(one), '2')], 'ok', { stashes: 1 }],
    ['each stash', [chunk('a'), chunk('b')], 'ok', { stashes: 2 }],
    [
      'not one whose chunk is refused',
      [chunk('a', { rowsMax: 0 })],
      'limit_exceeded: the stash would have more than 0 rows',
      {},
    ],
    [
      'a chunk of a stash that is there, at the limit',
      [chunk('a'), chunk('a', { stashesMax: 1 })],
      'ok',
      { stashes: 1 },
    ],
    ['not a stash that was deleted, however often', [chunk(), deleteStash(), deleteStash()], 'ok', {}],
    ['a stash that has expired, until that is noted', [chunk(), [1000, chunk('b')]], 'ok', { stashes: 2 }],
    [
      'not one whose expiry was noted, however often',
      [chunk(), [1000, expireStash(100n)], [1000, expireStash(100n)]],
      'ok',
      {},
    ],
    [
      'one stash, if it takes the place of one that has expired',
      [chunk(), [1000, chunk('stash', { stashesMax: 1 })]],
      'ok',
      { stashes: 1 },
    ],
    [
      'one stash, if it takes the place of one that was deleted',
      [chunk(), deleteStash(), chunk()],
      'ok',
      { stashes: 1 },
    ],
    ['a body that is open', [openBody()], 'ok', { openBodies: 1 }],
    ['not a body that has become a table', [openBody(), create(large)], 'ok', { rows: 2, tables: 1 }],
    ['not a body that has become a chunk', [openBody(), chunk('stash', {}, large)], 'ok', { stashes: 1 }],
    ['not a body whose request was refused', [openBody(), add(large)], missing, {}],
    ['nor that of an overwrite', [openBody(), overwrite(large)], missing, {}],
    [
      'nor one that came too late',
      [openBody(), [hour, chunk('stash', {}, body([hour + 1, one], [0, one]))]],
      lateBody,
      {},
    ],
    [
      'a body that another request does not name',
      [openBody({ bodyId: 'other' }), add(large)],
      missing,
      { openBodies: 1 },
    ],
    [
      "another team's body is not closed",
      [openBody({ teamId: 'another' }), openBody({ bodyId: 'mine' }), add(large)],
      missing,
      { openBodies: 1 },
    ],
    ['a body that is an hour old', [openBody(), [hour, expireBody()]], 'ok', { openBodies: 1 }],
    [
      'not one that is older, once that is noted, however often',
      [openBody(), [hour + 1, expireBody()], [hour + 2, expireBody()]],
      'ok',
      {},
    ],
    ['not one that is closed and then said to be over', [openBody(), add(large), [hour + 1, expireBody()]], 'ok', {}],
    [
      'not one that is over and then closed',
      [openBody(), [hour + 1, expireBody()], [hour + 1, add(large)]],
      missing,
      {},
    ],
    [
      "another team's expiry closes nothing",
      [openBody(), [hour + 1, expireBody({ teamId: 'another' })]],
      'ok',
      { openBodies: 1 },
    ],
    [
      'an upload that is open, with what may arrive',
      [upload('a'), upload('b')],
      'ok',
      { openUploads: 2, openUploadBytes: 20 },
    ],
    [
      'not one that is completed, however often',
      [upload('upload'), completeUpload(), completeUpload()],
      'ok',
      { uploadBytes: 4 },
    ],
    [
      'not one that is too large',
      [upload('upload'), completeUpload({ size: 11 })],
      'payload_too_large: the file has 11 bytes, more than 10; it was deleted',
      {},
    ],
    ['not one that is over', [upload('upload'), [1000, checkUpload()]], 'ok', {}],
  ])('the quota counts %s', (_name, steps, outcome, used) => expect(after({}, ...steps)).toEqual({ outcome, used }));

  test('not a table that is deleted', () => {
    expect(after({ owner: 'team', team: { tables: 3 } }, removeTable(), removeTable())).toEqual({
      outcome: 'ok',
      used: { tables: 2 },
    });
  });
});
