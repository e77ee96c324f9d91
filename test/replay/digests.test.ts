/** Digests: equal for a read model and its rebuild, however it was compacted; made anew only of what has changed. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeGarbage } from '../../src/log/garbage.ts';
import { sumBlocks, type BlockedSection } from '../../src/log/compare/digest-blocks.ts';
import { DigestCache } from '../../src/log/compare/digest-cache.ts';
import { digestReadModel, type ReadModelDigest } from '../../src/log/compare/digest.ts';
import { Snapshot } from '../../src/log/compare/snapshot.ts';
import { engineSections } from '../../src/log/log.sections.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import { compactOnce } from '../../projections/tables/compaction.ts';
import type { Service } from '../../src/app/service.ts';
import { chooseSeed } from '../support/random.ts';
import { rebuild } from '../support/rebuild.ts';
import { runTablog } from '../support/tablog.ts';
import { openOperator } from '../support/open-operator.ts';
import { DrivenTeam, logOf } from './driven-team.ts';
import { createGeneratedLog, type GeneratedLog } from './generated-log.ts';

const rebuilt = `${readModelSchema}_rebuilt`;
const signal = new AbortController().signal;
let generated: GeneratedLog;
let service: Service;

beforeAll(async () => {
  generated = await createGeneratedLog({
    seed: chooseSeed(),
    teams: 3,
    eventsOfTeam: 300,
    blocksOfTeam: 20,
    rowsOfBlock: 50,
  });
  service = await openOperator(generated.environment);
});

afterAll(async () => {
  await service?.close();
  await generated?.drop();
});

function digest(schema = readModelSchema, snapshotMs?: number): Promise<ReadModelDigest> {
  return digestReadModel(models, {
    url: generated.url,
    schema,
    signal,
    ...(snapshotMs === undefined ? {} : { snapshotMs }),
  });
}

async function digestOfRebuilt(): Promise<ReadModelDigest> {
  await rebuild({ url: generated.url, log: generated.log, schema: rebuilt });
  return digest(rebuilt);
}

/** The team's commands go through the log of the service. */
function createTeam(partition: number): Promise<DrivenTeam> {
  return DrivenTeam.create(logOf(service), partition);
}

test('a read model, its rebuild, and the same in many short snapshots have one digest', async () => {
  const live = await digest();
  const again = await digestOfRebuilt();
  expect(again).toEqual(live);
  expect(live.rowsRead).toBeGreaterThan(500);
  expect(new Set(live.partitions.map(({ digest }) => digest)).size).toBe(live.partitions.length);
  await service.database.pool.query('truncate digests');
  // Each snapshot is old at once: it digests the least possible.
  expect(await digest(readModelSchema, 0)).toEqual(live);
});

test('compaction and garbage collection change no digest', async () => {
  const before = await digest();
  while (await compactOnce(service.database)) continue;
  while (await removeGarbage(models, service.database)) continue;
  await service.database.pool.query('truncate digests');
  const after = await digest();
  expect(after.partitions).toEqual(before.partitions);
  expect(after.rowsRead).toBeGreaterThan(500);
});

test('only what has changed is read again', async () => {
  const team = await createTeam(5);
  const [one, other] = [await team.table('{"n":1}'), await team.table('{"n":1}')];
  const rows = Array.from({ length: 40 }, (_, n) => `{"n":${n}}`);
  const patched = await team.add(one, 'block', ...rows);
  await team.add(one, 'block', ...rows);
  await team.add(other, 'block', ...rows);
  const before = await digest();
  expect((await digest()).rowsRead).toBe(0);

  await team.patch(one, patched, '{"n":-1}');
  const after = await digest();
  // The extent of the patched row; neither the other extents of its table, nor other tables.
  expect(after.rowsRead).toBe(40);
  const changed = after.partitions.filter(({ digest }, at) => digest !== before.partitions[at]!.digest);
  expect(changed.map(({ partition }) => partition)).toEqual([5]);
  await team.patch(one, patched, '{"n":-2}');
  const third = await digest();
  expect(third.rowsRead).toBe(40);
  expect(third.partitions[5]!.digest).not.toBe(after.partitions[5]!.digest);
  expect((await digestOfRebuilt()).partitions).toEqual(third.partitions);
});

test('the blocks of outcomes add up to all of them, and only those are read again that have changed', async () => {
  const outcomes = engineSections.find(({ what }) => what === 'outcomes') as BlockedSection;
  const inBlocks = (number: string): BlockedSection => ({ ...outcomes, blocks: { ...outcomes.blocks, number } });
  const { url } = generated;
  const read = (
    section: BlockedSection,
    cache: DigestCache | null,
  ): Promise<{ reads: number; sums: ReadonlyMap<number, string> | null }> => {
    return Snapshot.with(url, readModelSchema, async (snapshot) => {
      let reads = 0;
      const sums = await sumBlocks(section, snapshot, cache, { mayRead: () => true, onRead: () => (reads += 1) });
      return { reads, sums };
    });
  };
  const [inOne, inMany] = [inBlocks('0::int8'), inBlocks('log_offset / 10')];
  const cache = await DigestCache.open(url, readModelSchema);
  try {
    const { sums } = await read(inOne, null);
    const first = await read(inMany, cache);
    expect(first).toEqual({ sums, reads: expect.any(Number) });
    expect(first.reads).toBeGreaterThan(1);
    expect(await read(inMany, cache)).toEqual({ sums, reads: 0 });
    await createTeam(1);
    const after = await read(inMany, cache);
    expect(after).toEqual({ sums: (await read(inOne, null)).sums, reads: 1 });
    expect(after.sums).not.toEqual(sums);
    const [kept] = (
      await service.database.pool.query(
        `select (select count(*) from digests where digest like '% %')::int as kept, (select count(distinct (partition, log_offset / 10)) from outcomes)::int as blocks`,
      )
    ).rows;
    expect(kept.kept).toBe(kept.blocks);
  } finally {
    await cache.close();
  }
});

test('on the command line each partition has a line with its offset and its digest', async () => {
  const { partitions } = await digest();
  const { code, stdout } = await runTablog(['digest'], generated.environment);
  expect(code).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ +/));
  expect(lines).toEqual([
    ['PARTITION', 'OFFSET', 'DIGEST'],
    ...partitions.map(({ partition, next, digest }) => [String(partition), String(next), digest]),
  ]);
  const asJson = await runTablog(['digest', '--json'], generated.environment);
  expect(JSON.parse(asJson.stdout)).toEqual({
    partitions: partitions.map(({ next, ...rest }) => ({ ...rest, next: String(next) })),
    rowsRead: 0,
  });
});
