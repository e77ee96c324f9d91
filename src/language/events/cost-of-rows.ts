/** Estimates what rows cost from what the process that appends the event knows of them (cost.ts). */
import type { Profile } from '../values/profile.ts';

/** Of each column of a profile, and of each row that came with a row ID. */
const columnCost = 128;
const rowIdCost = 200;

/** Of an import, and of the blocks of a body where nothing is known of them: that of several batches. */
export const unknownCost = 16_000_000;

/** What the blocks of a body hold together, for the cost of the event that ends it. */
export interface BodyContent {
  /** The columns of their profiles, and the rows that came with row IDs, summed over the blocks. */
  readonly columns: number;
  readonly rowIds: number;
}

/** What a block of rows holds. `hasIds`: whether some of its rows came with row IDs. */
export function contentOf({ columns, rows }: Profile, hasIds: boolean): BodyContent {
  return { columns: columns.length, rowIds: hasIds ? rows : 0 };
}

export function costOfContent({ columns, rowIds }: BodyContent): number {
  return columns * columnCost + rowIds * rowIdCost;
}

export function costOfProfile(profile: Profile, hasIds: boolean): number {
  return costOfContent(contentOf(profile, hasIds));
}
