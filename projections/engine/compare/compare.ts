/** Compares two read models, as far as clients and later decisions can tell them apart. */
import { engineSections } from '../engine.sections.ts';
import type { Models } from '../model.ts';
import { Differences, type Difference } from './differences.ts';
import { compareSection } from './section.ts';
import type { Snapshot } from './snapshot.ts';

export interface ComparedReadModels {
  /** The first differences; empty when the read models are equal. */
  readonly differences: readonly Difference[];
  /** How much was compared, by kind: `{ tables: 3, rows: 1200 }`. */
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * Compares everything that clients read or decisions use. It skips what may differ between equivalent read models: local keys,
 * segments without an extent, rows of deleted tables, the stored form of bodies, and expired outcomes.
 */
export async function compareReadModels(models: Models, expected: Snapshot, found: Snapshot): Promise<ComparedReadModels> {
  const differences = new Differences();
  const all = Object.values(models);
  for (const section of [...engineSections, ...all.flatMap(({ sections }) => sections)]) {
    if (!differences.full) await compareSection(section, expected, found, differences);
  }
  let counts = {};
  for (const compare of all.flatMap(({ comparisons = [] }) => comparisons)) {
    if (!differences.full) counts = { ...counts, ...(await compare(expected, found, differences)) };
  }
  return { differences: differences.list, counts };
}
