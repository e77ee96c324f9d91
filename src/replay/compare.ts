/** Compares two read models as far as clients, and later decisions, can tell them apart. */
import { Differences, type Difference } from './differences.ts';
import { RowComparison } from './compare-rows.ts';
import { compareSection, sections } from './sections.ts';
import type { Snapshot } from './snapshot.ts';

export interface Comparison {
  /** The first ones; none when the read models are equal. */
  readonly differences: readonly Difference[];
  readonly tables: number;
  /** Rows that are not deleted. */
  readonly rows: number;
}

/**
 * Compares what is read and decided by. Not what is local to a read model: its keys, segments that nobody links, what a deleted table had, how a
 * link's bodies are stored, and what is remembered for a while only and whose time is over.
 */
export async function compareReadModels(expected: Snapshot, found: Snapshot): Promise<Comparison> {
  const differences = new Differences();
  for (const section of sections) {
    if (!differences.full) await compareSection(section, expected, found, differences);
  }
  const rows = differences.full ? 0 : await new RowComparison(expected, found, differences).run();
  const [[tables]] = (await found.query('select count(*)::int4 from tables where not deleted')) as [[number]];
  return { differences: differences.list, tables, rows };
}
