/** Compares two read models, as far as clients and later decisions can tell them apart. */
import { engineSections } from '../engine.sections.ts';
import type { Models } from '../model.ts';
import type { Comparison } from './comparison.ts';
import { Differences, type Difference } from './differences.ts';
import { compareSection } from './section.ts';
import type { Snapshot } from './snapshot.ts';

export interface ComparedReadModels {
  /** The first differences; empty when the read models are equal. */
  readonly differences: readonly Difference[];
  /** How much was compared, by kind: `{ tables: 3, rows: 1200 }`. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Runs a part of the comparison on a snapshot of each read model, both at the same progress. */
export type AtSameProgress = <T>(compare: (expected: Snapshot, found: Snapshot) => Promise<T>) => Promise<T>;

/**
 * Compares everything that clients read or decisions use, part by part, so that no snapshot has to last for all of them. It skips what
 * may differ between equivalent read models: local keys, segments without an extent, rows of deleted tables, the stored form of bodies,
 * and expired outcomes.
 */
export async function compareReadModels(models: Models, atSameProgress: AtSameProgress): Promise<ComparedReadModels> {
  const differences = new Differences();
  let counts = {};
  for (const compare of comparisonsOf(models)) {
    if (differences.full) break;
    const compared = await atSameProgress((expected, found) => compare(expected, found, differences));
    counts = { ...counts, ...compared };
  }
  return { differences: differences.list, counts };
}

/** All parts of the comparison: the sections, then what takes more than a query. */
function comparisonsOf(models: Models): readonly Comparison[] {
  const all = Object.values(models);
  const sections = [...engineSections, ...all.flatMap(({ sections }) => sections)].map((section): Comparison => {
    return async (expected, found, differences) => {
      await compareSection(section, expected, found, differences);
      return {};
    };
  });
  return [...sections, ...all.flatMap(({ comparisons = [] }) => comparisons)];
}
