/** Cuts records into runs and stretches for loading. Decisions do not depend on the cuts. */
import type { Entry } from './entry.ts';
import type { ModelSet } from '../model-set.ts';

/**
 * Cuts records before each event that reads stored rows (`readsStored`), so that everything before the event is stored
 * first, in the same transaction. Consecutive events of that kind share a stretch, because they do not affect each
 * other. An event that may store much ends its stretch.
 */
export function stretchesOf(models: ModelSet, entries: readonly Entry[]): Entry[][] {
  const stretches: Entry[][] = [];
  let before = true;
  let hasEnded = true;
  for (const entry of entries) {
    const readsStored = models.readsStored(entry.event.data);
    if (hasEnded || (readsStored && !before)) stretches.push([entry]);
    else stretches.at(-1)!.push(entry);
    before = readsStored;
    hasEnded = models.storesMuch(entry.event.data);
  }
  return stretches;
}

/**
 * Cuts records before each event whose look-ups depend on the decision of an earlier one, or may be large
 * (`loadsMuch`).
 */
export function runsOf(models: ModelSet, entries: readonly Entry[]): Entry[][] {
  const runs: Entry[][] = [[]];
  let made = new Set<string>();
  for (const entry of entries) {
    const { data } = entry.event;
    const isCut = models.loadsMuch(data) || models.needs(data).some((name) => made.has(name));
    if (isCut && runs.at(-1)!.length > 0) {
      runs.push([]);
      made = new Set();
    }
    runs.at(-1)!.push(entry);
    for (const name of models.makes(data)) made.add(name);
  }
  return runs;
}
