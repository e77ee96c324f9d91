/** Compares two read models as far as clients, and later decisions, can tell them apart. */
import { engineSections } from '../engine.sections.ts';
import type { Models } from '../model.ts';
import { Differences, type Difference } from './differences.ts';
import { compareSection } from './section.ts';
import type { Snapshot } from './snapshot.ts';

export interface ComparedReadModels {
  /** The first ones; none when the read models are equal. */
  readonly differences: readonly Difference[];
  /** How much was compared, by what it is called: `{ tables: 3, rows: 1200 }`. */
  readonly counts: Readonly<Record<string, number>>;
}

/**
 * Compares what is read and decided by. Not what is local to a read model: its keys, segments that nobody links, what a deleted table had, how a
 * link's bodies are stored, and what is remembered for a while only and whose time is over.
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
