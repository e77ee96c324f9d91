/** Deleting a row (spec 4.5): what becomes of a row of version 20 or 30 in a table of version 50, at version 100. */
import { expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import { remove } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked } from '../../../support/requests.ts';
import type { RowAddress } from '../../../../src/language/events/row-id.ts';

type Case = readonly [name: string, state: Given, row: RowAddress, asked: Asked, outcome: string];

const two = ['{"a":1}', '{"a":2}'];

test.each<Case>([
  [
    'a row of a block is deleted',
    { block: two },
    blockRow(1),
    {},
    'ok 100 | table 1 | team 1 | extent 20 2 by 10 changed 1 deleted | row 20[1] deleted',
  ],
  [
    'a row of the tail is deleted',
    { tail: two, otherRows: 5 },
    tailRow(0),
    {},
    'ok 100 | table 1 open | team 6 | extent 30 2 by 10 plain changed 1 deleted | row 30[0] deleted',
  ],
  [
    'a version that is right',
    { block: two },
    blockRow(1),
    { ifMatch: 20n },
    'ok 100 | table 1 | team 1 | extent 20 2 by 10 changed 1 deleted | row 20[1] deleted',
  ],
  [
    'a version before',
    { block: two },
    blockRow(1),
    { ifMatch: 19n },
    'precondition_failed: the row has changed: its version is 20, not 19 or older',
  ],
  ['a row that is not there moves nothing', { block: two }, blockRow(2), {}, 'ok 50'],
  ['a row that is not there has no version to match', { block: two }, blockRow(2), { ifMatch: 0n }, 'ok 50'],
  ['an extent that is not there moves nothing', { block: two }, tailRow(0), {}, 'ok 50'],
  [
    "a row of another team's table is in no table",
    { block: two, owner: 'another' },
    blockRow(0),
    {},
    'table_not_found: there is no such table',
  ],
])('a row is deleted or the request refused: %s', (_name, state, row, asked, outcome) => {
  expect(shown(when(given(state), remove(row, asked)))).toBe(outcome);
});

test('deleting a deleted row changes nothing, and it counts once', () => {
  const state = given({ block: two });
  when(state, remove(blockRow(0)));
  const next = { ...here, version: 101n };
  expect(shown(when(state, remove(blockRow(0), { ifMatch: 0n }), next), next)).toBe('ok 100');
  expect(shown(when(state, remove(blockRow(1)), next), next)).toBe(
    'ok 101 | table 0 | team 0 | extent 20 2 by 10 changed 2 deleted | row 20[1] deleted',
  );
});

test('a deleted row makes room', () => {
  const state = given({ block: two, rowsMax: 2 });
  when(state, remove(blockRow(0)));
  expect(state.teams.team('team')!.rows).toBe(1);
});
