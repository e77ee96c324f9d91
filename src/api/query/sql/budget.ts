/**
 * Limits the size of a query. Beyond these limits the engine plans for a long time without being interruptible, or runs
 * out of memory.
 */
import { QueryError } from '../language/query-error.ts';

/** Limits of the tables that a query names, of its nesting depth, and of its compiled text. */
const tablesMax = 20;
const depthMax = 100;
const textMax = 4 * 1024 * 1024;
/** Each of these within another at least doubles the time of the engine. */
const costlyDepthMax = 6;
/** The parts that a guard counts as. */
export const partsOfGuard = 10;

/** Limit of the parts of a query, with names replaced by what they stand for (scope.ts). */
const partsMax = 10_000;

export class Budget {
  #depth = 0;
  #costlyDepth = 0;
  #tables = 0;
  #written = 0;
  #parts = 0;

  /** Runs work on a nested part. Throws QueryError if it is nested too deep. */
  deeper<T>(work: () => T): T {
    this.#depth += 1;
    if (this.#depth > depthMax) throw new QueryError('query_invalid', 'The query is nested too deep.');
    const done = work();
    this.#depth -= 1;
    return done;
  }

  /** Runs work on a subquery, a lambda or a BETWEEN. Throws QueryError if these are nested too deep. */
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

  /** Counts characters of the compiled text. Throws QueryError if there are too many. */
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
        `The query has more than ${partsMax} parts. An alias, or a column of a subquery, counts with all parts of its expression.`,
      );
    }
  }

  /** Runs work. Returns its result, and how many parts it added. */
  measure<T>(work: () => T): readonly [done: T, parts: number] {
    const before = this.#parts;
    return [work(), this.#parts - before];
  }
}
