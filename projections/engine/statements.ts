import type { BoundStatement } from '../../src/database/combine.ts';

/** The statement that stores these things; none where there are none. */
export function storing<T>(things: readonly T[], bind: (things: readonly T[]) => BoundStatement): BoundStatement[] {
  return things.length === 0 ? [] : [bind(things)];
}
