/** Digests sections of many rows block by block, so that only changed blocks are read again. */
import { joinDigest, type DigestCache, type KeptDigest } from './digest-cache.ts';
import { addSums, hashed, sum, type Sum } from './row-hashes.ts';
import type { Section, SectionBlocks } from './section.ts';
import type { Snapshot } from './snapshot.ts';

export type BlockedSection = Section & { readonly blocks: SectionBlocks };

/** How many blocks are read at once. */
const blocksAtOnce = 20;

interface Block {
  readonly partition: number;
  readonly number: bigint;
  /** The unit under which the cache stores the blocks of the partition. */
  readonly unit: string;
  readonly fingerprint: string;
  /** The sum of the block's rows, if it is cached. */
  readonly kept: string | null;
}

/** The units under which the cache stores blocks, as `DigestedUnits.query` selects them. */
export function unitsOfBlocks(section: Section): string {
  return `select ${unitOf(section)} as unit from progress`;
}

function unitOf({ what }: Section): string {
  return `md5('${what} ' || partition)::uuid`;
}

/**
 * The sum of the rows of each partition (row-hashes.ts). It is the same as if all rows were read at once. Before blocks
 * are read, `mayRead` is called; if it returns false, this resolves to null, and the cache has the finished blocks.
 */
export async function sumBlocks(
  section: BlockedSection,
  snapshot: Snapshot,
  cache: DigestCache | null,
  { mayRead, onRead }: { readonly mayRead: () => boolean; readonly onRead: () => void },
): Promise<ReadonlyMap<number, string> | null> {
  const { number, fingerprint } = section.blocks;
  const blocks = await snapshot.query<Block>(
    `select blocks.*, kept.digest as kept from (
      select partition, ${number} as number, ${unitOf(section)} as unit, ${fingerprint} as fingerprint
      from (${section.query}) rows group by 1, 2
    ) blocks ${joinDigest('blocks.unit', 'blocks.number::text', 'blocks.fingerprint')}`,
  );
  const sums = blocks.flatMap(({ partition, kept }) => (kept === null ? [] : [{ partition, sum: kept }]));
  const changed = blocks.filter(({ kept }) => kept === null);
  for (let from = 0; from < changed.length; from += blocksAtOnce) {
    if (!mayRead()) return null;
    const some = changed.slice(from, from + blocksAtOnce);
    const read = await readBlocks(section, snapshot, some);
    onRead();
    sums.push(...read);
    await cache?.keep(
      some.flatMap(({ partition, number: block, unit, fingerprint: of }): KeptDigest[] => {
        const found = read.find((each) => each.partition === partition && each.number === block);
        return found === undefined ? [] : [{ unit, part: String(block), fingerprint: of, digest: found.sum }];
      }),
    );
  }
  await cache?.removeOtherParts(
    blocks.map(({ unit }) => unit),
    blocks.map(({ number: block }) => String(block)),
  );
  return new Map(
    [...Map.groupBy(sums, ({ partition }) => partition)].map(([partition, of]) => [
      partition,
      of.map((each) => each.sum).reduce(addSums),
    ]),
  );
}

async function readBlocks(
  { query, blocks: { number } }: BlockedSection,
  snapshot: Snapshot,
  blocks: readonly Block[],
): Promise<(Sum & Pick<Block, 'partition' | 'number'>)[]> {
  const rows = `select rows.* from (${query}) rows join unnest($1::int4[], $2::int8[]) wanted(of_partition, number)
    on wanted.of_partition = rows.partition and wanted.number = ${number}`;
  return snapshot.query(
    `with part as (${hashed(rows)}) select ${sum}, partition, ${number} as number from part group by 2, 3`,
    [blocks.map(({ partition }) => partition), blocks.map((block) => String(block.number))],
  );
}
