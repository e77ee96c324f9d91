/**
 * Types that not all values fit are decided by the rows as all earlier events left them, in whichever batch these are
 * (docs/decisions/0077).
 */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import type { AppliedResult, Outcome } from '../../src/language/events/outcome.ts';
import { DrivenTeam } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const log = useDrivenLog();
const toNumber = [{ id: 'a', type: 'number' }] as const;
const rowsOf = (count: number, a = '1'): string[] => Array.from({ length: count }, (_, n) => `{"n":${n},"a":"${a}"}`);

function resultOf(outcome: Outcome | undefined): AppliedResult {
  if (outcome?.status !== 'applied') throw new Error(JSON.stringify(outcome));
  return outcome.result;
}

test.each([1, 2, 3, 500])(
  'a small table is tried by what stands before, in batches of %d events',
  async (batchEvents) => {
    const team = await DrivenTeam.create(log(), batchEvents % 11);
    const tableId = randomUUID();
    // The offset is the version, because no generation has begun in this log.
    const rowAt = (version: bigint, index: number): RowAddress => ({ version, ordinal: 0, index });
    const outcomes = await team.project(
      1,
      [
        await team.creatingTable(tableId, '{"a":"first"}', '{"a":"2"}'),
        await team.adding(tableId, 'block', ['{"a":"third"}', '{"a":"4"}', '{"a":"fifth"}']),
        await team.patching(tableId, rowAt(1n, 1), '{"a":"second"}'),
        team.deletingRow(tableId, rowAt(2n, 0)),
        await team.adding(tableId, 'few', ['{"a":"sixth"}']),
        // A column that comes again is empty: `n` has nothing that could misfit.
        team.changingColumns(tableId, { remove: ['n'], add: [{ id: 'n', type: 'string' }] }),
        team.changingColumns(tableId, { change: [...toNumber, { id: 'n', type: 'date' }], onMisfit: 'clear' }),
        team.changingColumns(tableId, { change: [{ id: 'a', type: 'string' }] }),
        team.changingColumns(tableId, { change: toNumber }),
      ],
      batchEvents,
    );
    expect(resultOf(outcomes[6])).toEqual({
      misfits: [{ id: 'a', cells: 4, rowId: formatRowId(rowAt(1n, 0)), value: '"first"' }],
    });
    // What was cleared does not come back, and so fits.
    expect(resultOf(outcomes[8])).toEqual({ misfits: [] });
  },
);

/** A table that is too large to be tried whole, with an open tail, and its version. */
async function largeTable(team: DrivenTeam) {
  const tableId = await team.table();
  const row = await team.add(tableId, 'block', ...rowsOf(2100));
  const [added] = await team.project(1, [await team.adding(tableId, 'few', rowsOf(1))]);
  return { tableId, row, version: added!.etag! };
}
type Large = Awaited<ReturnType<typeof largeTable>>;

const misfit = '{"n":0,"a":"x"}';
const refused = /one cell does not fit the type number: the first is \\"x\\"/;

test.each<[name: string, change: (team: DrivenTeam, table: Large) => Promise<void>, expected: RegExp | AppliedResult]>([
  ['nothing', async () => undefined, { misfits: [] }],
  [
    'a row that was patched and fits',
    (team, { tableId, row }) => team.patch(tableId, row, '{"a":"2"}'),
    { misfits: [] },
  ],
  ['a row that was patched and misfits', (team, { tableId, row }) => team.patch(tableId, row, '{"a":"x"}'), refused],
  [
    'a row that misfitted and was deleted',
    async (team, { tableId, row }) => {
      await team.patch(tableId, row, '{"a":"x"}');
      await team.deleteRow(tableId, row);
    },
    { misfits: [] },
  ],
  [
    'a row in the tail that was open',
    async (team, { tableId }) => void (await team.add(tableId, 'few', misfit)),
    refused,
  ],
  ['a row in a block', async (team, { tableId }) => void (await team.add(tableId, 'block', misfit)), refused],
  [
    'other rows than before',
    async (team, { tableId }) => void (await team.project(1, [await team.overwriting(tableId, misfit)])),
    refused,
  ],
  [
    'another schema',
    async (team, { tableId }) => void (await team.project(1, [team.renamingColumn(tableId, 'N')])),
    { untried: true },
  ],
  [
    'many rows',
    async (team, { tableId }) => void (await team.add(tableId, 'block', ...rowsOf(2001))),
    { untried: true },
  ],
])('a large table that fitted is tried by what has changed since: %s', async (_, change, expected) => {
  const team = await DrivenTeam.create(log(), 11);
  const table = await largeTable(team);
  await change(team, table);
  const event = team.changingColumns(table.tableId, {
    change: toNumber,
    tried: { version: table.version, misfits: [] },
  });
  if (expected instanceof RegExp) await expect(team.project(1, [event])).rejects.toThrow(expected);
  else expect(resultOf((await team.project(1, [event]))[0])).toEqual(expected);
});

test('a large table is not tried if it did not fit before and has changed since, or if nobody has tried it', async () => {
  const team = await DrivenTeam.create(log(), 11);
  const { tableId, row, version } = await largeTable(team);
  const misfits = [{ id: 'a', cells: 1, rowId: formatRowId(row), value: '"x"' }];
  const change = { change: toNumber, onMisfit: 'clear' as const };
  await team.patch(tableId, row, '{"a":"x"}');
  const tried = await team.project(1, [
    team.changingColumns(tableId, change),
    team.changingColumns(tableId, { ...change, tried: { version, misfits } }),
    team.changingColumns(tableId, { ...change, tried: { version: version + 1n, misfits } }),
  ]);
  expect(tried.map(resultOf)).toEqual([{ untried: true }, { untried: true }, { misfits }]);
});
