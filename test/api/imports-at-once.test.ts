/** Spec 4.13, decisions 2, 3 and 6: imports, and chunks that are sent, replaced or deleted at the same time. */
import { describe, expect, test } from '@jest/globals';
import { scale } from '../scale.ts';
import { promptly, useApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { expectStored, newStashId, stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, type MadeTable } from '../support/tables.ts';

const { api, client } = useApi(promptly);

const create = ($stashID: string): Promise<Answer> => client().post('/tables', { name: 'n', rows: { $stashID } });
const add = ({ path }: MadeTable, $stashID: string): Promise<Answer> => client().post(path, { $stashID });
const overwrite = ({ id }: MadeTable, $stashID: string): Promise<Answer> => client().put(`/tables/${id}`, { $stashID });

const idsOf = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ $rowID }) => $rowID);
const numbered = (from: number, count: number): { n: number }[] =>
  Array.from({ length: count }, (_, at) => ({ n: from + at }));

describe('an import', () => {
  test('imports of the same stash at once each bring all rows', async () => {
    const table = await createTable(client(), [], { n: 'number' });
    const stashId = await stashOf(client(), { 1: numbered(0, 5), 2: numbered(5, 120) });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => (at % 2 === 0 ? add(table, stashId) : create(stashId))),
    );
    expect(answers.map(outcomeOf)).toEqual(answers.map(() => '201'));
    const added = answers
      .filter((_, at) => at % 2 === 0)
      .map(({ version, json }) => ({ version: version!, ids: json.data.rowIDs as string[] }));
    const rows = await client().rows(table.id);
    expect(idsOf(rows)).toEqual(added.toSorted((a, b) => (a.version < b.version ? -1 : 1)).flatMap(({ ids }) => ids));
    expect(cellsOf(rows)).toEqual([...numbered(0, 125), ...numbered(0, 125), ...numbered(0, 125)]);
  });

  test('has either all rows of a chunk or all rows of its replacement', async () => {
    const stashId = await stashOf(client(), { 1: [{ v: 0 }, { v: 0 }], 2: [{ v: 0 }], 3: 'v\n0\n0\n0\n' });
    for (let round = 1; round <= 25; round += 1) {
      const rows = Array.from({ length: 1 + (round % 3) }, () => ({ v: round }));
      const [put, ...made] = await Promise.all([
        client().put(`/stashes/${stashId}/2`, rows),
        create(stashId),
        create(stashId),
      ]);
      expectStored(put);
      for (const answer of made) {
        const values = cellsOf(await client().rows(answer.json.data.tableID)).map(({ v }) => v);
        const last = Array.from({ length: round === 1 ? 1 : 1 + ((round - 1) % 3) }, () => round - 1);
        const next = rows.map(({ v }) => v);
        expect([
          [0, 0, ...last, 0, 0, 0],
          [0, 0, ...next, 0, 0, 0],
        ]).toContainEqual(values);
        expect(answer.json.data.rowIDs).toHaveLength(values.length);
      }
    }
  });

  test('has all rows of a stash that is deleted meanwhile, or finds no stash', async () => {
    const table = await createTable(client(), [], { n: 'number' });
    let rows = 0;
    for (let round = 0; round < 20; round += 1) {
      const stashId = await stashOf(client(), { 1: numbered(0, 2), 2: numbered(2, 3) });
      const [first, removed, second] = await Promise.all([
        add(table, stashId),
        client().delete(`/stashes/${stashId}`),
        add(table, stashId),
      ]);
      expectStored(removed!);
      for (const answer of [first, second]) {
        expect(['201', '400 stash_not_found']).toContain(outcomeOf(answer!));
        if (answer!.status === 201) rows += 5;
      }
      expect(outcomeOf(await add(table, stashId))).toBe('400 stash_not_found');
    }
    expect(await client().rows(table.id)).toHaveLength(rows);
  });

  test('an import that runs while chunks arrive has all chunks that were answered before it', async () => {
    const stashId = newStashId();
    const table = await createTable(client(), [], { n: 'number' });
    for (let round = 0; round < 8; round += 1) {
      const sent = Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          client().put(`/stashes/${stashId}/${round * 10 + at}`, [{ n: round * 10 + at }]),
        ),
      );
      const during = round === 0 ? null : overwrite(table, stashId);
      const answers = await sent;
      answers.forEach(expectStored);
      if (during === null) continue;
      expect(outcomeOf(await during)).toBe('200');
      const numbers = cellsOf(await client().rows(table.id)).map(({ n }) => n as number);
      expect(numbers.slice(0, round * 10)).toEqual(Array.from({ length: round * 10 }, (_, n) => n));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
    expect(outcomeOf(await overwrite(table, stashId))).toBe('200');
    expect(cellsOf(await client().rows(table.id))).toEqual(numbered(0, 80));
  });
});

test.each([
  ['numbers', (at: number) => String(at)],
  ['words', (at: number) => `part-${String(at).padStart(5, '0')}`],
])(
  `${scale.smallChunks} small chunks, sent by sixteen at once, come in the order of their serials: %s`,
  async (_name, serialOf) => {
    const { client: by } = await api().createTeam();
    const stashId = newStashId();
    // Scattered, so that neighbours come at different times.
    const order = Array.from({ length: scale.smallChunks }, (_, at) => (at * 1237) % scale.smallChunks);
    await Promise.all(
      Array.from({ length: 16 }, async (_, worker) => {
        for (let at = worker; at < order.length; at += 16) {
          const serial = order[at]!;
          expectStored(
            await by.put(
              `/stashes/${stashId}/${serialOf(serial)}`,
              [{ n: serial * 2 }, { n: serial * 2 + 1 }].slice(serial % 7 === 0 ? 1 : 0),
            ),
          );
        }
      }),
    );
    const numbers = numbered(0, scale.smallChunks * 2)
      .map(({ n }) => n)
      .filter((n) => n % 14 !== 0);
    const answer = await by.post('/tables', { name: 'n', rows: { $stashID: stashId } });
    expect(outcomeOf(answer)).toBe('201');
    const { tableID, rowIDs } = answer.json.data;
    const rows = await by.rows(tableID, 700);
    expect(rows.map(({ n }) => n)).toEqual(numbers);
    expect(idsOf(rows)).toEqual(rowIDs);
    const at = numbers.length - 1;
    expect((await by.get(`/tables/${tableID}/rows/${rowIDs[at]}`)).json.data.n).toBe(numbers[at]);
  },
);
