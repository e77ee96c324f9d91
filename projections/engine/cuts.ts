/** Where records are cut for loading. Nothing that is decided depends on where that is. */
import type { Entry } from './batch.ts';
import type { ModelSet } from './model-set.ts';

/**
 * Cuts records so that all before an event is stored which reads what is stored: within the same transaction. Several of these change
 * nothing for each other.
 */
export function stretchesOf(models: ModelSet, entries: readonly Entry[]): Entry[][] {
  const stretches: Entry[][] = [];
  let before = true;
  for (const entry of entries) {
    const readsStored = models.readsStored(entry.event.data);
    if (stretches.length === 0 || (readsStored && !before)) stretches.push([entry]);
    else stretches.at(-1)!.push(entry);
    before = readsStored;
  }
  return stretches;
}

/** Cuts records where an event looks up what cannot be loaded before an earlier one is decided. */
export function runsOf(models: ModelSet, entries: readonly Entry[]): Entry[][] {
  const runs: Entry[][] = [[]];
  let made = new Set<string>();
  for (const entry of entries) {
    const { data } = entry.event;
    if (models.needs(data).some((name) => made.has(name))) {
      runs.push([]);
      made = new Set();
    }
    runs.at(-1)!.push(entry);
    for (const name of models.makes(data)) made.add(name);
  }
  return runs;
}
