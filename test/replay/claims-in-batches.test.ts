/**
 * Files that rows name, and their uploads, in batches: each event is decided by the events before it, in whichever
 * batch they are.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { DrivenTeam, naming } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const plain = '{"n":1}';
const log = useDrivenLog();

describe('a batch', () => {
  test.each([1, 2, 3, 7, 500])(
    'a batch of at most %d events decides each look by what stands before it',
    async (batchEvents) => {
      // One partition per batch size, so that versions are the same in each.
      const team = await DrivenTeam.create(log(), [1, 2, 3, 7].includes(batchEvents) ? batchEvents : 9);
      const [early, late, both, never, incomplete] = Array.from({ length: 5 }, () => team.upload());
      const tableId = randomUUID();
      const [first, second] = await Promise.all([
        team.adding(tableId, 'few', [naming(early!), naming(both!)]),
        team.adding(tableId, 'block', [naming(late!), naming(both!)]),
      ]);
      const state = async (): Promise<Record<string, unknown>> => {
        const { rows } = await log().database.pool.query(
          'select id, unclaimed_since, removed_at from uploads where team_id = $1',
          [team.id],
        );
        const {
          rows: [{ upload_bytes: bytes }],
        } = await log().database.pool.query('select upload_bytes from teams where id = $1', [team.id]);
        const nameOf = new Map(
          Object.entries({ early, late, both, never, incomplete }).map(([name, upload]) => [upload!.id, name]),
        );
        const clocks = rows.map((row) => [
          nameOf.get(row.id),
          `${row.unclaimed_since ?? '-'} ${row.removed_at ?? '-'}`,
        ]);
        return { ...Object.fromEntries(clocks), bytes: Number(bytes) };
      };
      const [all, completed] = [
        [early!, late!, both!, never!, incomplete!],
        [early!, late!, both!, never!],
      ];
      const checks = (): ReturnType<typeof team.checking>[] => all.map((upload) => team.checking(upload));

      const addedIn = await team.project(
        100,
        [
          ...all.map((upload) => team.creating(upload)),
          ...completed.map((upload) => team.completing(upload)),
          ...checks(),
          await team.creatingTable(tableId),
          first,
          ...checks(),
          second,
          team.checking(both!),
        ],
        batchEvents,
      );
      expect(await state()).toEqual({
        early: '- -',
        late: '100 -',
        both: '- -',
        never: '100 -',
        incomplete: '- -',
        bytes: 28,
      });

      const [firstRow, secondRow] = addedIn
        .slice(-8)
        .filter(({ status }) => status === 'applied')
        .flatMap((outcome) => (outcome.status === 'applied' ? (outcome.result.rows ?? []) : []))
        .map(({ version, ordinal, first: index }) => ({ version, ordinal, index }));
      await team.project(
        105,
        [
          team.checking(late!),
          team.deletingRow(tableId, firstRow!),
          team.checking(early!),
          team.checking(late!),
          await team.patching(tableId, { ...firstRow!, index: firstRow!.index + 1 }, '{"a":"x"}'),
          team.checking(both!),
          await team.patching(tableId, secondRow!, '{"a":"x"}'),
          team.checking(both!),
          team.checking(late!),
        ],
        batchEvents,
      );
      expect(await state()).toEqual({
        early: '105 -',
        late: '105 -',
        both: '- -',
        never: '100 -',
        incomplete: '- -',
        bytes: 28,
      });

      // Named again before the check: the clock starts anew. Named only after it: the file is given up.
      await team.project(
        115,
        [
          await team.adding(tableId, 'block', [naming(early!)]),
          team.checking(early!),
          team.checking(late!),
          team.checking(never!),
          await team.adding(tableId, 'few', [naming(late!)]),
          team.checking(late!),
          team.checking(late!),
          team.deletingTable(tableId),
          team.checking(both!),
          team.checking(early!),
        ],
        batchEvents,
      );
      expect(await state()).toEqual({
        early: '115 -',
        late: '105 115',
        both: '115 -',
        never: '100 115',
        incomplete: '- -',
        bytes: 14,
      });

      await team.project(
        2000,
        [team.checking(incomplete!), team.checking(early!), team.checking(both!), ...checks()],
        batchEvents,
      );
      expect(await state()).toEqual({
        early: '115 2000',
        late: '105 115',
        both: '115 2000',
        never: '100 115',
        incomplete: '- 2000',
        bytes: 0,
      });
    },
  );

  test('takes what it stored itself for stored, also schemas', async () => {
    const team = await DrivenTeam.create(log());
    const upload = team.upload();
    const tableId = randomUUID();
    await team.project(1, [
      await team.creatingTable(tableId, plain),
      team.creating(upload),
      team.completing(upload),
      team.checking(upload),
      await team.adding(tableId, 'few', [`{"new":"${upload.url}"}`]),
      team.checking(upload),
      await team.adding(tableId, 'few', ['{"new":4}', '{"newer":4}']),
      team.checking(upload),
      await team.adding(tableId, 'few', ['{"newer":"x"}']),
    ]);
    expect(await team.isClaimed(upload)).toBe(true);
    const {
      rows: [{ rows }],
    } = await log().database.pool.query('select rows from tables where id = $1', [tableId]);
    expect(Number(rows)).toBe(5);
  });

  test('that fails in its middle leaves nothing of itself, and what it read is not remembered', async () => {
    const team = await DrivenTeam.create(log(), 10);
    const upload = await team.uploaded();
    const tableId = randomUUID();
    const broken = team.event({ type: 'TokenRevoked', teamId: team.id, tokenId: 'no uuid' });
    const adding = async (row: string): ReturnType<typeof team.adding> => team.adding(tableId, 'few', [row]);
    await expect(
      team.project(1, [
        await team.creatingTable(tableId, '{"x":1}', naming(upload)),
        team.checking(upload),
        await adding('{"x":2}'),
        team.checking(upload),
        broken,
      ]),
    ).rejects.toThrow('no uuid');
    expect(await team.isClaimed(upload)).toBe(false);
    // Other events take the offsets of those rolled back.
    await team.project(1, [
      await team.creatingTable(tableId, plain),
      team.checking(upload),
      await adding('{"x":"text"}'),
    ]);
    expect(await team.isClaimed(upload)).toBe(false);
    const {
      rows: [table],
    } = await log().database.pool.query('select rows, widened from tables where id = $1', [tableId]);
    expect(table).toEqual({ rows: '2', widened: '0' });
  });
});
