/** Compares two read models, as far as clients and later decisions can tell them apart. */
import { engineSections } from '../log.sections.ts';
import type { Models } from '../model.ts';
import type { ComparedPiece, CompareSnapshots, ComparisonKey } from './comparison.ts';
import { Differences, type Difference } from './differences.ts';
import { compareSection } from './section.ts';
import type { Snapshot } from './snapshot.ts';

export interface ComparedReadModels {
  /** The first differences; empty when the read models are equal. */
  readonly differences: readonly Difference[];
  /** How much was compared, by kind: `{ tables: 3, rows: 1200 }`. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs a piece of the comparison on a snapshot of each read model, both at the same progress. */
type AtSameProgress = <T>(compare: (expected: Snapshot, found: Snapshot) => Promise<T>) => Promise<T>;

/**
 * Compares everything that clients read or decisions use, piece by piece: when snapshots become old, another pair
 * continues. Skips everything that may differ between equivalent read models: local keys, segments without an extent,
 * rows of deleted tables, the stored form of bodies, and expired outcomes.
 */
export async function compareReadModels(models: Models, atSameProgress: AtSameProgress): Promise<ComparedReadModels> {
  const differences = new Differences();
  const counts: Record<string, number> = {};
  for (const compare of comparisonsOf(models)) {
    for (let after: ComparisonKey | null = null, isOver = false; !isOver && !differences.full;) {
      const from: ComparisonKey | null = after;
      const piece: ComparedPiece = await atSameProgress((expected, found) =>
        compare(expected, found, differences, from),
      );
      for (const [what, count] of Object.entries(piece.counts)) counts[what] = (counts[what] ?? 0) + count;
      after = piece.next;
      isOver = after === null;
    }
  }
  return { differences: differences.list, counts };
}

/** All parts of the comparison: the sections, then the parts that need more than one query. */
function comparisonsOf(models: Models): readonly CompareSnapshots[] {
  const all = Object.values(models);
  const sections = [...engineSections, ...all.flatMap(({ sections }) => sections)].map((section): CompareSnapshots => {
    return async (expected, found, differences, after) => ({
      counts: {},
      next: await compareSection(section, expected, found, differences, after),
    });
  });
  return [...sections, ...all.flatMap(({ comparisons = [] }) => comparisons)];
}
