/** Estimates the cost of rows from the facts that the appending process knows (cost.ts). */
import type { Profile } from '../values/profile.ts';

/** Cost of each column of a profile, and of each row that came with a row ID. */
const columnCost = 128;
const rowIdCost = 200;

/** Cost of an import, and of the blocks of a body of which nothing is known: as much as several batches. */
export const unknownCost = 16_000_000;

/** Totals over the blocks of a body, for the cost of the event that ends it. */
export interface BodyContent {
  /** The columns of the blocks' profiles, and the rows that came with row IDs, summed over the blocks. */
  readonly columns: number;
  readonly rowIds: number;
}

/** The content of one block. `hasIds`: whether some of its rows came with row IDs. */
export function contentOf({ columns, rows }: Profile, hasIds: boolean): BodyContent {
  return { columns: columns.length, rowIds: hasIds ? rows : 0 };
}

export function costOfContent({ columns, rowIds }: BodyContent): number {
  return columns * columnCost + rowIds * rowIdCost;
}

export function costOfProfile(profile: Profile, hasIds: boolean): number {
  return costOfContent(contentOf(profile, hasIds));
}
