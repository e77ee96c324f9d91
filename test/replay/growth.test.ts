/** Whatever is written day after day, the tables of the read model do not grow with the days. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import { scale } from '../scale.ts';
import { DrivenTeam } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const log = useDrivenLog();
const [hour, day] = [3_600_000, 86_400_000];

/** After so many days nothing is kept of the first: outcomes are the last to go. */
const settled = 16;

/** How many rows each table of the read model has, and bytes of bodies. */
async function sizes(): Promise<Record<string, number>> {
  const { pool } = log().database;
  const { rows: tables } = await pool.query(
    'select table_name as name from information_schema.tables where table_schema = $1',
    [readModelSchema],
  );
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as size from ${name}`);
  const bytes = `select 'bytes of bodies' as name, coalesce(sum(length(body)), 0)::int as size from segment_rows`;
  const { rows } = await pool.query([...counts, bytes].join(' union all '));
  return Object.fromEntries(rows.map(({ name, size }) => [name, size]));
}

/**
 * Collects all garbage, as if it were two hours later: what is idle is judged by the clock of Postgres, which stands
 * still meanwhile. So are looks at extents and schemas: for these, as if so many days had passed.
 */
async function collect(days: number): Promise<void> {
  while (await removeGarbage(models, log().database, 2 * hour));
  const { replaced_bodies: bodies, superseded_schemas: schemas } = models.tables.garbage;
  for (const remove of [bodies!, schemas!]) while (await remove(log().database, days * day));
}

/** Equally long on all days, because bytes are counted. */
const rows = (ofDay: number): string[] =>
  Array.from({ length: 5 }, (_, at) => `{"a":"${String(ofDay).padStart(5, '0')} ${'x'.repeat(100)}","n":${at}}`);

test('what a day leaves is gone after some more', async () => {
  const team = await DrivenTeam.create(log());
  const [kept, overwritten] = [await team.table(), await team.table()];
  const [added] = await team.project(2, [await team.adding(kept, 'block', rows(0))]);
  if (added!.status !== 'applied') throw new Error('refused');
  const { version, ordinal, first } = added!.result.rows![0]!;
  const row: RowAddress = { version, ordinal, index: first };
  let yesterday: string | null = null;
  const seen: Record<string, number>[] = [];
  for (let at = 1; at <= scale.daysOfGrowth; at += 1) {
    const today = randomUUID();
    const stashId = `stash ${at}`;
    await team.project(at * day, [
      await team.creatingTable(today, ...rows(at)),
      await team.adding(today, 'block', rows(at)),
      await team.overwriting(overwritten, ...rows(at)),
      await team.adding(overwritten, 'block', rows(at)),
      await team.patching(kept, row, `{"n":${at}}`),
      team.renamingColumn(kept, `of day ${at}`),
      await team.puttingChunk(stashId, rows(at)),
      await team.puttingChunk(stashId, rows(at + 1)),
      team.importing(today, stashId),
      team.event({ type: 'StashDeleteRequested', teamId: team.id, stashId }),
      ...(yesterday === null ? [] : [team.deletingTable(yesterday)]),
    ]);
    yesterday = today;
    await collect(at);
    seen.push(await sizes());
  }
  const bounds = seen[settled]!;
  const grown = Object.keys(bounds).filter((name) => seen.slice(settled).some((each) => each[name]! > bounds[name]!));
  expect(grown).toEqual([]);
  expect(bounds['outcomes']).toBeGreaterThanOrEqual(10 * 14);
  expect(bounds['issued_ids']).toBe(1);

  // Once the table is deleted that was overwritten each day, nothing is left of it either.
  await team.project((scale.daysOfGrowth + 1) * day, [team.deletingTable(overwritten), team.deletingTable(yesterday!)]);
  await team.project((scale.daysOfGrowth + 1 + settled) * day, [await team.patching(kept, row, '{"n":0}')]);
  await collect(scale.daysOfGrowth + 1 + settled);
  const { extents, segments, issued_ids, generations, outcomes, tables } = await sizes();
  expect({ extents, segments, issued_ids, generations, outcomes, tables }).toEqual({
    extents: 1,
    segments: 1,
    issued_ids: 0,
    generations: 0,
    outcomes: 1,
    tables: 1,
  });
});
