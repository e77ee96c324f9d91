import type { Differences } from './differences.ts';
import type { Snapshot } from './snapshot.ts';

/** Compares a part of two read models that takes more than a query. Resolves to how much was compared, by kind. */
export type Comparison = (expected: Snapshot, found: Snapshot, differences: Differences) => Promise<Readonly<Record<string, number>>>;
