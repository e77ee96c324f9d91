/** Which files rows name: at each place in the log this depends only on what comes before it. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models } from '../../projections/models.ts';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { selectClaims } from '../../projections/uploads/file-references.store.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import { DrivenTeam, naming, type DrivenUpload } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const plain = '{"n":1}';
const log = useDrivenLog();

async function count(query: string): Promise<number> {
  return Number((await log().database.pool.query(`select count(*) from ${query}`)).rows[0].count);
}

interface Given {
  readonly team: DrivenTeam;
  readonly upload: DrivenUpload;
  readonly tableId: string;
}

/** A table, and an upload whose file no row names. */
async function given(): Promise<Given> {
  const team = await DrivenTeam.create(log());
  const upload = await team.uploaded();
  const tableId = await team.table(plain);
  expect(await team.isClaimed(upload)).toBe(false);
  return { team, upload, tableId };
}

/** Adds a row that names the file; resolves to its address. */
async function added({ team, upload, tableId }: Given, kind: 'few' | 'block'): Promise<RowAddress> {
  const row = await team.add(tableId, kind, naming(upload));
  expect(await team.isClaimed(upload)).toBe(true);
  return row;
}

describe.each(['few', 'block'] as const)('a row that came among %s', (kind) => {
  test.each<[what: string, text: (url: string) => string]>([
    ['a string', (url) => `{"a":"${url}"}`],
    ['an element of a list', (url) => `{"other":["x","${url}"]}`],
    ['a part of a text', (url) => `{"a":"![a picture](${url}) and more"}`],
    ['escaped', (url) => `{"a":"${url.replaceAll('/', '\\/').replace('files', '\\u0066iles')}"}`],
  ])('names a file with %s', async (_, text) => {
    const { team, upload, tableId } = await given();
    await team.add(tableId, kind, plain, text('https://files.example/files/AAAAAAAAAAAAAAAAAAAAAA/x'), plain);
    expect(await team.isClaimed(upload)).toBe(false);
    await team.add(tableId, kind, plain, text(upload.url), plain);
    expect(await team.isClaimed(upload)).toBe(true);
  });

  test('names it until it is deleted', async () => {
    const all = await given();
    await all.team.deleteRow(all.tableId, await added(all, kind));
    expect(await all.team.isClaimed(all.upload)).toBe(false);
  });

  test('names it until it is patched, and whatever it was patched to last', async () => {
    const all = await given();
    const { team, upload, tableId } = all;
    const row = await added(all, kind);
    const other = await team.uploaded();
    for (const { texts, claimed } of [
      { texts: ['{"n":2}'], claimed: [true, false] },
      { texts: [naming(other)], claimed: [false, true] },
      { texts: [`{"a":"${other.url} ${upload.url}"}`], claimed: [true, true] },
      { texts: ['{"n":3}', '{"a":null}'], claimed: [false, false] },
      // Named, then not named, in one batch; and the other way round.
      { texts: [naming(upload), '{"a":"x"}'], claimed: [false, false] },
      { texts: ['{"a":"y"}', naming(upload)], claimed: [true, false] },
      { texts: ['{"a":"x"}', naming(upload)], claimed: [true, false] },
      { texts: [naming(upload), naming(other)], claimed: [false, true] },
    ]) {
      await team.patch(tableId, row, ...texts);
      expect([await team.isClaimed(upload), await team.isClaimed(other)]).toEqual(claimed);
    }
    await team.deleteRow(tableId, row);
    expect(await team.isClaimed(other)).toBe(false);
    expect(await count('change_references join changes using (extent, index) where body is null')).toBe(0);
  });

  test('names it until the table is overwritten, and that may name it again', async () => {
    const all = await given();
    const { team, upload, tableId } = all;
    await team.patch(tableId, await added(all, kind), '{"n":5}');
    await added(all, kind);
    await team.project(1, [await team.overwriting(tableId, plain)]);
    expect(await team.isClaimed(upload)).toBe(false);
    await team.project(1, [await team.overwriting(tableId, naming(upload))]);
    expect(await team.isClaimed(upload)).toBe(true);
  });

  test('names it until the table is deleted', async () => {
    const all = await given();
    const { team, upload, tableId } = all;
    await team.patch(tableId, await added(all, kind), '{"n":5}');
    await added(all, kind);
    const another = await team.table(naming(upload));
    await team.project(1, [team.deletingTable(tableId)]);
    expect(await team.isClaimed(upload)).toBe(true);
    await team.project(1, [team.deletingTable(another)]);
    expect(await team.isClaimed(upload)).toBe(false);
  });

  test('names no file of another team', async () => {
    const { team, upload, tableId } = await given();
    const stranger = await DrivenTeam.create(log());
    const other = await stranger.uploaded();
    await team.add(tableId, kind, naming(other));
    expect(await stranger.isClaimed(other)).toBe(false);
    await stranger.add(await stranger.table(), kind, naming(upload));
    expect(await team.isClaimed(upload)).toBe(false);
  });

  test('names what stands in a column that was dropped', async () => {
    const { team, upload, tableId } = await given();
    await team.project(1, [
      await team.adding(tableId, kind, [`{"n":1,"unknown":"${upload.url}"}`, plain], 'dropColumns'),
    ]);
    // Few rows are stored as presented, without the dropped column.
    expect(await team.isClaimed(upload)).toBe(kind === 'block');
  });
});

test('the rows of a stash name nothing before they are imported, and then as often as they are', async () => {
  const { team, upload, tableId } = await given();
  await team.chunk('stash', plain, naming(upload));
  expect(await team.isClaimed(upload)).toBe(false);
  const first = await team.import(tableId, 'stash');
  const second = await team.import(tableId, 'stash');
  const another = await team.table();
  await team.import(another, 'stash');
  for (const row of [first, second]) {
    expect(await team.isClaimed(upload)).toBe(true);
    await team.deleteRow(tableId, { ...row, index: row.index + 1 });
  }
  expect(await team.isClaimed(upload)).toBe(true);
  await team.project(1, [team.deletingTable(another)]);
  expect(await team.isClaimed(upload)).toBe(false);
});

test('the blocks of a body name nothing before it is complete', async () => {
  const { team, upload, tableId } = await given();
  const bodyId = randomUUID();
  await team.block(bodyId, 0, plain);
  await team.block(bodyId, 1, plain, naming(upload));
  expect(await team.isClaimed(upload)).toBe(false);
  await team.addBody(tableId, bodyId, 2);
  expect(await team.isClaimed(upload)).toBe(true);
});

describe('what is read to answer for a file', () => {
  /** A node of the plan that EXPLAIN prints. */
  interface PlanNode {
    readonly 'Relation Name'?: string;
    readonly 'Actual Rows': number;
    readonly 'Actual Loops': number;
    readonly 'Plans'?: readonly PlanNode[];
  }

  /** The number of rows read from each table. */
  async function readFor({ id }: DrivenUpload): Promise<Record<string, number>> {
    const {
      rows: [row],
    } = await log().database.pool.query(`explain (analyze, format json) ${selectClaims.text}`, [[id]]);
    const read: Record<string, number> = { file_references: 0, change_references: 0, extents: 0 };
    const add = (node: PlanNode): void => {
      const name = node['Relation Name'];
      if (name !== undefined) read[name] = (read[name] ?? 0) + node['Actual Rows'] * node['Actual Loops'];
      node.Plans?.forEach(add);
    };
    add(row['QUERY PLAN'][0].Plan);
    return read;
  }

  /** Makes this many small tables with rows that name a file, as received and as patched, and deletes the tables. */
  async function nameOften(team: DrivenTeam, upload: DrivenUpload, times: number): Promise<void> {
    for (let at = 0; at < times; at += 1) {
      const tableId = await team.table();
      await team.add(tableId, 'block', naming(upload));
      await team.patch(tableId, await team.add(tableId, 'few', plain), naming(upload));
      await team.project(1, [team.deletingTable(tableId)]);
    }
  }

  test('is what its own team says of it, however often others name it', async () => {
    const { team, upload } = await given();
    const stranger = await DrivenTeam.create(log());
    await nameOften(stranger, upload, 30);
    expect(await count(`file_references where file = '${upload.file}'`)).toBe(30);
    expect(await count(`change_references where file = '${upload.file}'`)).toBe(30);
    const passedBy = await readFor(upload);
    expect(passedBy.extents).toBe(0);
    // Reading the next index entry shows that there is no match.
    expect(passedBy.file_references).toBeLessThanOrEqual(1);
    expect(passedBy.change_references).toBeLessThanOrEqual(1);

    await nameOften(team, upload, 30);
    const read = await readFor(upload);
    expect(read.extents).toBeGreaterThanOrEqual(60);
    expect(read.file_references).toBeGreaterThanOrEqual(30);
    expect(read.change_references).toBeGreaterThanOrEqual(30);
    expect(await team.isClaimed(upload)).toBe(false);
  });
});

describe('compaction and garbage collection', () => {
  /** Uploads whose files are named in every possible way, and whether they still are. */
  async function everyWay(): Promise<(readonly [DrivenTeam, DrivenUpload, boolean])[]> {
    const { team, tableId } = await given();
    const uploads = Array.from({ length: 60 }, () => team.upload());
    await team.project(
      1,
      uploads.flatMap((upload) => [team.creating(upload), team.completing(upload)]),
    );
    const claims: (readonly [DrivenTeam, DrivenUpload, boolean])[] = [];
    const ended = await team.table(plain);
    const overwritten = await team.table(plain);
    for (const [at, upload] of uploads.entries()) {
      const target = at % 10 === 7 ? overwritten : at % 10 === 8 ? ended : tableId;
      const row = await team.add(target, at % 2 === 0 ? 'few' : 'block', `{"a":"${upload.url}","n":${at}}`, plain);
      // The next row begins a small extent of its own.
      await team.add(target, 'block', '{"a":4.5}');
      if (at % 10 === 1) await team.patch(target, row, '{"a":"nothing"}');
      if (at % 10 === 2) await team.patch(target, row, '{"n":77}');
      if (at % 10 === 3) await team.deleteRow(target, row);
      if (at % 10 === 4) await team.patch(target, { ...row, index: row.index + 1 }, naming(uploads[at - 1]!));
      const patchedBack = at % 10 === 3;
      claims.push([team, upload, patchedBack || ![1, 7, 8].includes(at % 10)]);
    }
    await team.project(2, [await team.overwriting(overwritten, plain), team.deletingTable(ended)]);
    return claims;
  }

  async function expectClaims(claims: Awaited<ReturnType<typeof everyWay>>): Promise<void> {
    for (const [at, [team, upload, isClaimed]] of claims.entries()) {
      expect([at, await team.isClaimed(upload)]).toEqual([at, isClaimed]);
    }
  }

  test('change nothing of what is named, and leave nothing that is not', async () => {
    const claims = await everyWay();
    await expectClaims(claims);
    const merged = await count('extents where merged');
    let steps = 0;
    for (; await compactOnce(log().database); steps += 1) if (steps % 20 === 0) await expectClaims(claims);
    expect(steps).toBeGreaterThan(20);
    expect(await count('extents where merged')).toBeGreaterThan(merged);
    await expectClaims(claims);

    const held = await count('file_references');
    const heldOfChanges = await count('change_references');
    while (await removeGarbage(models, log().database, 15 * 86_400_000)) continue;
    await expectClaims(claims);
    expect(await count('file_references')).toBeLessThan(held);
    expect(await count('file_references')).toBeGreaterThan(0);
    expect(await count('change_references')).toBeLessThan(heldOfChanges);
    expect(await count('change_references')).toBeGreaterThan(0);
    expect(await count('file_references left join segment_rows using (segment, index) where body is null')).toBe(0);
    expect(await count('change_references left join changes using (extent, index) where body is null')).toBe(0);
  });
});
