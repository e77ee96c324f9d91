/**
 * In what order a request is refused (docs/spec/decisions.md 2 and 6): table, suspension, missing row, If-Match,
 * unknown stash or late body, schema, cells, limits, plan. Of two things that are wrong with it, it answers with the
 * first.
 */
import { describe, expect, test } from '@jest/globals';

import { refusalOfCells } from '../../../../projections/tables/guards.ts';
import type { EventOf } from '../../../../src/language/events/event.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';
import { schemaOf } from '../../../../src/language/values/table-schema.ts';
import { blockRow, given, when } from '../../../support/decisions.ts';
import { add, block, body, create, patch, remove, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked, AskedTable, Request } from '../../../support/requests.ts';

interface Wrong<Ask> {
  readonly what: string;
  readonly state?: Given;
  readonly ask?: Partial<Ask>;
  readonly refusal: string;
}

const noTable = 'table_not_found: there is no such table';
const isSuspended = 'payment_required: the team is suspended';
const late = 'request_validation_error: the body took longer than an hour to arrive; send it again';
const overPlan = "payment_required: the team's plan allows 0 rows and 1 are in use";

/** Each thing that can be wrong alone, then each two of them. */
function inOrder<Ask extends object>(wrongs: readonly Wrong<Ask>[], request: (ask: Partial<Ask>) => Request): void {
  const answer = (...those: readonly Wrong<Ask>[]): string => {
    const state = those.reduce<Given>((all, { state: one }) => ({ ...all, ...one }), { block: ['{"a":1}'] });
    const ask = those.reduce<Partial<Ask>>((all, { ask: one }) => ({ ...all, ...one }), {});
    return shown(when(given(state), request(ask)));
  };

  test('a request without a mistake is applied', () => expect(answer()).toMatch(/^ok /));
  test.each(wrongs)('a request is refused if $what', (wrong) => expect(answer(wrong)).toBe(wrong.refusal));

  const pairs = wrongs.flatMap((first, at) => wrongs.slice(at + 1).map((second) => ({ first, second })));
  test.each(pairs)(
    'a request with two mistakes is refused for the first: $first.what, and $second.what',
    ({ first, second }) => {
      expect(answer(first, second)).toBe(first.refusal);
    },
  );
}

describe('rows are not added:', () => {
  interface Ask extends Asked {
    readonly rows: string;
    readonly late: boolean;
  }
  const wrongs: Wrong<Ask>[] = [
    { what: 'an unknown table', state: { owner: 'nobody' }, refusal: noTable },
    { what: 'a suspended team', state: { suspended: true }, refusal: isSuspended },
    {
      what: 'a changed table',
      ask: { ifMatch: 49n },
      refusal: 'precondition_failed: the table has changed: its version is 50, not 49 or older',
    },
    { what: 'a late body', ask: { late: true }, refusal: late },
    {
      what: 'a wrong cell',
      ask: { rows: '{"a":"x"}' },
      refusal: 'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number',
    },
    {
      what: 'too many rows',
      ask: { rowsPerTableMax: 1 },
      refusal: 'limit_exceeded: the table would hold more than 1 rows',
    },
    { what: 'a full plan', state: { rowsMax: 0 }, refusal: overPlan },
  ];
  inOrder(wrongs, ({ rows = '{"a":1}', late: isLate = false, ...asked }) =>
    add(isLate ? body([3_600_001, rows]) : block(rows), asked),
  );

  test('a table of another team is as unknown as a missing one', () => {
    expect(shown(when(given({ owner: 'another' }), add(block('{"a":1}'))))).toBe(noTable);
  });

  test.each<[string, Given, string]>([
    ['comes after If-Match', {}, 'precondition_failed: the table has changed: its version is 50, not 49 or older'],
    ['comes after the table', { owner: 'nobody' }, noTable],
  ])('an unknown stash %s', (_name, state, refusal) => {
    expect(shown(when(given(state), add(stash, { ifMatch: 49n })))).toBe(refusal);
  });
});

describe('a table is not created:', () => {
  interface Ask extends AskedTable {
    readonly rows: string;
    readonly late: boolean;
  }
  const wrongs: Wrong<Ask>[] = [
    { what: 'a suspended team', state: { suspended: true }, refusal: isSuspended },
    { what: 'a late body', ask: { late: true }, refusal: late },
    {
      what: 'a reserved column',
      ask: { schema: 'a:number b:string $rowID:string' },
      refusal: 'column_id_reserved: schema.columns[2].id: the column ID "$rowID" is reserved',
    },
    {
      what: 'a wrong cell',
      ask: { rows: '{"a":"x"}' },
      refusal: 'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number',
    },
    {
      what: 'too many columns',
      ask: { columnsMax: 1 },
      refusal: 'limit_exceeded: the table would have 2 columns; at most 1 are allowed',
    },
    { what: 'a full plan', state: { rowsMax: 0 }, refusal: overPlan },
  ];
  inOrder(wrongs, ({ rows = '{"a":1}', late: isLate = false, schema = 'a:number b:string', ...asked }) =>
    create(isLate ? body([3_600_001, rows]) : block(rows), { ...asked, schema }),
  );
});

describe('a row is not patched:', () => {
  interface Ask extends Asked {
    readonly index: number;
    readonly row: string;
  }
  const wrongs: Wrong<Ask>[] = [
    { what: 'an unknown table', state: { owner: 'nobody' }, refusal: noTable },
    { what: 'a suspended team', state: { suspended: true }, refusal: isSuspended },
    { what: 'an unknown row', ask: { index: 1 }, refusal: 'row_not_found: there is no such row' },
    {
      what: 'a changed row',
      ask: { ifMatch: 19n },
      refusal: 'precondition_failed: the row has changed: its version is 20, not 19 or older',
    },
    {
      what: 'a reserved column',
      ask: { row: '{"a":2,"c":3,"$stashID":1}' },
      refusal: 'column_id_reserved: $stashID: the column ID "$stashID" is reserved',
    },
    {
      what: 'too many columns',
      ask: { columnsMax: 2 },
      refusal: 'limit_exceeded: the table would have 3 columns; at most 2 are allowed',
    },
    {
      what: 'too long a row',
      ask: { rowBytesMax: 12 },
      refusal: 'limit_exceeded: the row would have 13 bytes, more than 12',
    },
  ];
  inOrder(wrongs, ({ index = 0, row = '{"a":2,"c":3}', ...asked }) =>
    patch(blockRow(index), row, { mode: 'updateSchema', ...asked }),
  );
});

describe('a row is not deleted:', () => {
  const wrongs: Wrong<Asked>[] = [
    { what: 'an unknown table', state: { owner: 'nobody' }, refusal: noTable },
    { what: 'a suspended team', state: { suspended: true }, refusal: isSuspended },
    {
      what: 'a changed row',
      ask: { ifMatch: 19n },
      refusal: 'precondition_failed: the row has changed: its version is 20, not 19 or older',
    },
  ];
  inOrder(wrongs, (asked) => remove(blockRow(0), asked));
});

describe('rows that no table accepts are checked by the schema first:', () => {
  type RowsRequest = EventOf<'TableCreateRequested' | 'RowsAddRequested' | 'RowPatchRequested'>;
  const schema = schemaOf([{ id: 'a', type: 'number' }], 1n);
  const judge = ({ data }: Request, isNew: boolean): string => {
    const asked = data as RowsRequest;
    const profile =
      'profile' in asked ? asked.profile : (asked.rows as unknown as { readonly profile: Profile }).profile;
    const refusal = refusalOfCells(asked, isNew ? null : schema, profile);
    return refusal === null ? 'none' : `${refusal.type}: ${refusal.message}`;
  };

  test.each<[string, Request, isNew: boolean, refusal: string]>([
    ['nothing is wrong', add(block('{"a":1}')), false, 'none'],
    [
      'a wrong cell',
      add(block('{"a":1}', '{"a":"x"}')),
      false,
      'column_has_invalid_value: rows[1].a: "x" does not fit the column\'s type number',
    ],
    ['an unknown column', add(block('{"b":1}')), false, 'column_id_not_found: rows[0].b: the table has no column "b"'],
    ['cells that are dropped', add(block('{"a":"x","b":1}'), { mode: 'dropColumns' }), false, 'none'],
    ['columns that are added', add(block('{"a":"x","b":1}'), { mode: 'updateSchema' }), false, 'none'],
    [
      'too many columns',
      add(block('{"a":"x","b":1}'), { mode: 'updateSchema', columnsMax: 1 }),
      false,
      'limit_exceeded: the table would have 2 columns; at most 1 are allowed',
    ],
    [
      'an inferred schema',
      create(block('{"a":"x","$stashID":1}')),
      true,
      'column_id_reserved: rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    [
      'a given schema, before its cells',
      create(block('{"a":"x"}'), { schema: 'a:number $rowID:string' }),
      true,
      'column_id_reserved: schema.columns[1].id: the column ID "$rowID" is reserved',
    ],
    [
      'a cell and a given schema',
      create(block('{"a":"x"}'), { schema: 'a:number' }),
      true,
      'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number',
    ],
    [
      'a patch',
      patch(blockRow(0), '{"a":"x"}'),
      false,
      'column_has_invalid_value: a: "x" does not fit the column\'s type number',
    ],
  ])('rows that no table takes are judged by the schema: %s', (_name, request, isNew, refusal) =>
    expect(judge(request, isNew)).toBe(refusal),
  );
});
