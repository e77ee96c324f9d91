/**
 * How large a query may be. What is beyond these bounds the engine plans for long, and cannot be interrupted, or it has
 * not enough memory.
 */
import { QueryError } from '../language/query-error.ts';

/** How many tables a query may name, how deep it may be nested, and how long its text for the engine may be. */
const tablesMax = 20;
const depthMax = 100;
const textMax = 4 * 1024 * 1024;
/** The engine takes twice as long, or longer, for each of these within another. */
const costlyDepthMax = 6;
/** How many parts it may have with what stands behind its names (scope.ts). */
const partsMax = 10_000;

export class Budget {
  #depth = 0;
  #costlyDepth = 0;
  #tables = 0;
  #written = 0;
  #parts = 0;

  /** Does work on what is nested. */
  deeper<T>(work: () => T): T {
    this.#depth += 1;
    if (this.#depth > depthMax) throw new QueryError('query_invalid', 'The query is nested too deep.');
    const done = work();
    this.#depth -= 1;
    return done;
  }

  /** Does work on a subquery, a lambda or a BETWEEN. */
  costly<T>(work: () => T): T {
    this.#costlyDepth += 1;
    if (this.#costlyDepth > costlyDepthMax)
      throw new QueryError(
        'query_invalid',
        `Subqueries, lambdas and BETWEEN are nested more than ${costlyDepthMax} deep.`,
      );
    const done = work();
    this.#costlyDepth -= 1;
    return done;
  }

  addTable(): void {
    this.#tables += 1;
    if (this.#tables > tablesMax)
      throw new QueryError('limit_exceeded', `The query names more than ${tablesMax} tables.`);
  }

  /** Counts characters that are written more than once. */
  addText(characters: number): void {
    this.#written += characters;
    if (this.#written > textMax)
      throw new QueryError(
        'limit_exceeded',
        'The query is too large, with its parameters and the columns of its tables.',
      );
  }

  addParts(parts: number): void {
    this.#parts += parts;
    if (this.#parts > partsMax) {
      throw new QueryError(
        'limit_exceeded',
        `The query has more than ${partsMax} parts, where an alias, or a column of a subquery, counts as what it stands for.`,
      );
    }
  }

  /** Does work, and says how many parts were added. */
  measure<T>(work: () => T): readonly [done: T, parts: number] {
    const before = this.#parts;
    return [work(), this.#parts - before];
  }
}
