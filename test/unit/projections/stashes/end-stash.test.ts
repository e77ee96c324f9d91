/**
 * The end of stashes (spec 4.11, section 3), and what imports see of them: a stash of one chunk, made at version 60.
 */
import { describe, expect, test } from '@jest/globals';

import { given, here, when } from '../../../support/decisions.ts';
import { add, block, create, deleteStash, expireStash, overwrite, putChunk, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { States } from '../../../../projections/models.ts';
import type { Request } from '../../../support/requests.ts';
import type { LogPlace } from '../../../../src/log/batch/decision.ts';

const one = '{"a":1}';
const week = 7 * 24 * 3_600_000;
/** Its first moment and the one from which on it is no more. */
const begin = here.time;
const end = begin + 1000;
const chunk = putChunk(block(one), '1');

type Step = readonly [time: number, request: Request];

const at = (time: number): LogPlace => ({ ...here, time });

/** The state after the chunk, and these requests at their times, from version 61 on. */
function after(...steps: readonly Step[]): States {
  const state = given();
  when(state, chunk, { ...here, version: 60n });
  steps.forEach(([time, request], place) => when(state, request, { ...here, version: 61n + BigInt(place), time }));
  return state;
}

const deleted: Step = [begin + 5, deleteStash()];
const said: Step = [end + 5, expireStash(60n)];

describe('a deletion', () => {
  test.each<readonly [string, readonly Step[], number, string]>([
    ['ends the stash', [], begin, `ok | stash stash@60 1 chunks 1 rows ended ${begin}`],
    ['at the last moment too', [], end - 1, `ok | stash stash@60 1 chunks 1 rows ended ${end - 1}`],
    ['says nothing of one whose time is over', [], end, 'ok'],
    ['nor after that was said', [said], end + 9, 'ok'],
    ['nor a second time', [deleted], begin + 9, 'ok'],
    [
      'ends the one that came after another',
      [deleted, [begin + 6, chunk]],
      begin + 7,
      `ok | stash stash@62 1 chunks 1 rows ended ${begin + 7}`,
    ],
  ])('a deletion %s', (_name, steps, time, outcome) => {
    expect(shown(when(after(...steps), deleteStash(), at(time)))).toBe(outcome);
  });

  test('a deletion of an unknown stash changes nothing', () => {
    expect(shown(when(given(), deleteStash()))).toBe('ok');
  });
});

describe('the report that its time is over', () => {
  const over = `ok | stash stash@60 1 chunks 1 rows ended ${end}`;

  test.each<readonly [string, readonly Step[], Step, string]>([
    ['ends the stash', [], [end, expireStash(60n)], over],
    ['is said later', [], [end + 2 * week, expireStash(60n)], over],
    ['is not so before', [], [end - 1, expireStash(60n)], 'ok'],
    ['is not so of another stash', [], [end, expireStash(59n)], 'ok'],
    ['says nothing twice', [said], said, 'ok'],
    ['says nothing of one that was deleted', [deleted], [end, expireStash(60n)], 'ok'],
    ['says nothing of the one that came after it', [[end, chunk]], [end + 3000, expireStash(60n)], 'ok'],
    [
      'is said of the one that came after another',
      [[end, chunk]],
      [end + 1000, expireStash(61n)],
      `ok | stash stash@61 1 chunks 1 rows ended ${end + 1000}`,
    ],
  ])("the end of a stash's time %s", (_name, steps, [time, request], outcome) => {
    expect(shown(when(after(...steps), request, at(time)))).toBe(outcome);
  });

  test('the end of the time of an unknown stash changes nothing', () => {
    expect(shown(when(given(), expireStash(60n)))).toBe('ok');
  });
});

/** What an import says of the stash. */
const never = 'stash_not_found: there is no stash stash';
const wasDeleted = 'stash_not_found: stash stash was deleted';
const hasExpired = 'stash_not_found: stash stash has expired';

const imports: readonly (readonly [string, () => Request])[] = [
  ['adds', () => add(stash)],
  ['overwrites', () => overwrite(stash)],
  ['overwrites under another schema', () => overwrite(stash, { schema: 'a:number' })],
  ['creates', () => create(stash)],
  ['creates under a schema', () => create(stash, { schema: 'a:number' })],
];

describe.each(imports)('an import that %s', (name, request) => {
  const needsNone = name === 'creates under a schema';

  test.each<readonly [string, readonly Step[], number, string]>([
    ['takes one at its first moment', [], begin, 'ok'],
    ['takes one at its last', [], end - 1, 'ok'],
    [
      'takes one after other imports',
      [
        [begin, add(stash)],
        [begin, overwrite(stash)],
        [begin, create(stash)],
      ],
      begin,
      'ok',
    ],
    ['takes one that was deleted, and has come again', [deleted, [begin + 6, chunk]], begin + 7, 'ok'],
    ['takes one that has expired, and has come again', [said, [end + 6, chunk]], end + 7, 'ok'],
    ['takes one that has expired, which nobody said, and has come again', [[end + 6, chunk]], end + 7, 'ok'],
    ['does not take one that has just expired', [], end, hasExpired],
    ['does not take one that has expired, as was said', [said], end + 6, hasExpired],
    ['takes one whose expiry was said too early', [[end - 1, expireStash(60n)]], end - 1, 'ok'],
    ['does not take one that has expired a week ago', [], end + week, hasExpired],
    ['does not take one that has expired a week ago, as was said', [said], end + week, hasExpired],
    ['does not take one that was deleted', [deleted], begin + 5, wasDeleted],
    ['does not take one that was deleted before it would have expired', [deleted], end + 5, wasDeleted],
    ['does not take one that was deleted a week ago', [deleted], begin + 5 + week, wasDeleted],
    ['does not take one that was deleted after it had expired', [[end + 1, deleteStash()]], end + 2, hasExpired],
    [
      'does not take one that was deleted, came again and was deleted',
      [deleted, [begin + 6, chunk], [begin + 7, deleteStash()]],
      begin + 8,
      wasDeleted,
    ],
  ])('the import %s', (_name, steps, time, outcome) => {
    const decision = shown(when(after(...steps), request(), at(time)));
    expect(decision.startsWith('ok') ? 'ok' : decision).toBe(outcome);
    if (outcome === 'ok') expect(decision).toMatch(/ \| extent 100 1 by 100? plain/);
  });

  test.each<readonly [string, readonly Step[], number]>([
    ['expired', [], end + week + 1],
    ['expired, as was said', [said], end + week + 1],
    ['was deleted', [deleted], begin + 5 + week + 1],
  ])('does not know any more that one %s more than a week ago', (_name, steps, time) => {
    const decision = shown(when(after(...steps), request(), at(time)));
    expect(decision).toBe(needsNone ? 'ok 100 | table 0 new schema | schema a:number' : never);
  });

  test('finds no stash that never existed', () => {
    const decision = shown(when(given(), request()));
    expect(decision).toBe(needsNone ? 'ok 100 | table 0 new schema | schema a:number' : never);
  });

  test('finds no stash of another team', () => {
    const state = given();
    const { data, ...carried } = chunk;
    if (data.type !== 'ChunkPutRequested') throw new Error('not a chunk');
    when(state, { data: { ...data, teamId: 'another' }, ...carried });
    expect(shown(when(state, request()))).toBe(needsNone ? 'ok 100 | table 0 new schema | schema a:number' : never);
  });
});
