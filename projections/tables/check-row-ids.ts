/** Checks the row IDs of an overwrite: this table must have issued each, and none may repeat. */
import { runsOfStep, type RowIdIssuer, type RowIdRun, type RowIdRuns } from '../../src/language/events/row-id-runs.ts';
import type { Steps } from '../../src/language/time-slices.ts';
import { findRetainedPlace } from './retained-places.ts';
import type { IssuedIds } from './table.ts';

/** The first row whose ID is refused. */
interface RowIdMisfit {
  readonly run: RowIdRun;
  readonly row: number;
  /** Whether an earlier row has the same ID. If not, the table never had a row with this ID. */
  readonly isRepeated: boolean;
}

/** `tooMany`: the IDs have more runs than are checked (`runsMax`). */
export type RowIdCheck = 'fit' | 'tooMany' | RowIdMisfit;

/**
 * `issuedBy` returns the IDs that an issuer issued, in any generation of the table; null if the table never had the
 * issuer.
 */
export function* checkRowIds(
  runs: RowIdRuns | 'tooMany' | null,
  issuedBy: (issuer: RowIdIssuer) => IssuedIds | null,
): Steps<RowIdCheck> {
  if (runs === null) return 'fit';
  if (runs === 'tooMany') return 'tooMany';
  const repeated = yield* runs.findRepeated();
  const found: (IssuedIds | null | undefined)[] = [];
  for (let place = 0; place < runs.length; place += 1) {
    if (place % runsOfStep === 0) yield;
    const issuer = runs.issuerAt(place);
    let issued = found[issuer];
    if (issued === undefined) found[issuer] = issued = issuedBy(runs.issuers[issuer]!);
    const run = runs.at(place);
    const unissued = findUnissued(issued, run);
    if (repeated !== null && repeated < run.row + run.count && (unissued === null || repeated <= unissued))
      return { run, row: repeated, isRepeated: true };
    if (unissued !== null) return { run, row: unissued, isRepeated: false };
  }
  return 'fit';
}

/** The first row of a run whose ID was never issued. */
function findUnissued(issued: IssuedIds | null, { first, count, row }: RowIdRun): number | null {
  if (issued === null) return row;
  const rows = Math.min(count, Math.max(0, issued.rows - first));
  // A row with a retained ID does not have the ID of its place, so that ID was never issued.
  const retained = findRetainedPlace(issued.retained, first, rows);
  if (retained !== null) return row + retained - first;
  return rows < count ? row + rows : null;
}
