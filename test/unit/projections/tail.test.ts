/**
 * Adding rows to the tail of a table (spec 4.12): when rows join the tail, when the tail closes, and which versions its
 * rows have.
 */
import { describe, expect, test } from '@jest/globals';

import type { LogPlace } from '../../../src/log/batch/decision.ts';
import { given, here, when } from '../../support/decisions.ts';
import { add, block, few } from '../../support/requests.ts';
import { shown } from '../../support/shown-decisions.ts';
import type { Given } from '../../support/decisions.ts';
import type { Asked } from '../../support/requests.ts';

const one = '{"a":1}';

describe('the tail', () => {
  const joins = 'ok 100 | table 2 open | extent 30 2';
  const closes = 'ok 100 | table 2 open | extent 100 1';
  const mebibyte = 1024 * 1024;

  test.each<readonly [string, Given, Asked, string]>([
    ['takes 10,000 rows', { tailExtent: { rows: 9999 } }, {}, 'ok 100 | table 10000 open | extent 30 10000'],
    ['closes before it has more', { tailExtent: { rows: 10_000 } }, {}, 'ok 100 | table 10001 open | extent 100 1'],
    ['takes 1 MiB', { tailExtent: { bytes: mebibyte - one.length } }, {}, joins],
    ['closes before it has more bytes', { tailExtent: { bytes: mebibyte - one.length + 1 } }, {}, closes],
    ['closes when the schema has changed', { tailExtent: { schemaVersion: 9n } }, {}, closes],
    ['goes on if a mode changes nothing', {}, { mode: 'updateSchema' }, joins],
    ['goes on after a row was patched or deleted', { tailExtent: { changed: true, deleted: 1 } }, {}, joins],
  ])('the tail %s', (_name, state, asked, beginning) => {
    const decision = shown(when(given({ tail: ['{"a":0}'], ...state }), add(few(one), asked)));
    expect(decision.slice(0, beginning.length + 1)).toBe(`${beginning} `);
  });

  test.each<readonly [name: string, gaps: LogPlace['gaps'], beginning: string]>([
    ['goes on if versions were lost before it', [{ from: 5n, to: 29n }], joins],
    [
      'closes when versions may have been lost after it',
      [
        { from: 5n, to: 29n },
        { from: 40n, to: 90n },
      ],
      closes,
    ],
  ])('the tail %s', (_name, gaps, beginning) => {
    const decision = shown(when(given({ tail: ['{"a":0}'] }), add(few(one), {}), { ...here, gaps }));
    expect(decision.slice(0, beginning.length + 1)).toBe(`${beginning} `);
  });

  test('closes at a block, and the next few rows open another one', () => {
    const state = given({ tail: [one] });
    expect(shown(when(state, add(block(one, one))))).toBe('ok 100 | table 3 | extent 100 2 by 10 plain | team 3');
    const next = { ...here, version: 101n };
    expect(shown(when(state, add(few(one)), next), next)).toBe(
      'ok 101 | table 4 open | extent 101 1 by 10 plain | rows 101[0] {"a":1} | team 4',
    );
  });

  test('closes if rows change the schema, and another one begins', () => {
    const state = given({ tail: [one] });
    expect(shown(when(state, add(few('{"c":true}'), { mode: 'updateSchema' })))).toBe(
      'ok 100 | table 2 new schema open | schema a:number b:string c:boolean' +
        ' | extent 100 1 by 100 plain | rows 100[0] {"c":true} | team 2',
    );
    const next = { ...here, version: 101n };
    expect(shown(when(state, add(few(one)), next), next)).toBe(
      'ok 101 | table 3 open | extent 100 2 by 100 plain | rows 100[1] {"a":1} | team 3',
    );
  });

  test('counts the bytes of the rows as they are presented', () => {
    const state = given({ tail: [one] });
    const { changes } = when(state, add(few('{"b":42}')));
    expect(changes).toContainEqual(
      expect.objectContaining({
        kind: 'extent',
        extent: expect.objectContaining({ bytes: one.length + '{"b":"42"}'.length }),
      }),
    );
  });

  test('gives each row the version of its event, and an ID in its extent', () => {
    const state = given({ tail: ['{"a":0}'] });
    const { outcome } = when(state, add(few(one, one)));
    expect(outcome).toMatchObject({ result: { rows: [{ version: 30n, ordinal: 0, first: 1, count: 2 }] } });
    const table = state.tables.table('table')!;
    expect(state.tables.row(table, { version: 30n, ordinal: 0, index: 0 })).toMatchObject({
      version: 30n,
      body: '{"a":0}',
    });
    expect(state.tables.row(table, { version: 30n, ordinal: 0, index: 2 })).toMatchObject({
      version: 100n,
      body: one,
      form: { stored: 'presented', decidedAt: 100n },
    });
  });
});
