/**
 * Combines statements that change different tables into one: each becomes a CTE, which Postgres always runs to
 * completion. Most of these statements do less work than a separate statement costs.
 */
import type { Statement } from './pipelined-client.ts';

/** A statement with its parameter values. */
export interface BoundStatement<Row extends object = object> {
  readonly statement: Statement<Row>;
  readonly values: readonly unknown[];
  /** Whether it is so much work that it is sent alone, after those that are combined. */
  readonly isAlone?: true;
}

export function bind<Row extends object>(statement: Statement<Row>, values: readonly unknown[]): BoundStatement<Row> {
  return { statement, values };
}

/** A statement that does what others do. Postgres needs its text only; the simulation runs its parts. */
export interface CombinedStatement extends Statement {
  readonly parts: readonly Statement[];
  /** How many of the first parts must return a row. */
  readonly guards: number;
}

/**
 * Limit of prepared combinations, because each costs memory on every connection. Postgres parses further ones each
 * time.
 */
const combinedMax = 300;
const combined = new Map<string, CombinedStatement>();

/**
 * One statement that does what all parts do, atomically. The parts see the same snapshot, so no two may touch the same
 * rows. Each of the first `guards` parts must return a row, or the whole statement fails: see isGuardFailure.
 */
export function combine(parts: readonly BoundStatement[], guards = 0): BoundStatement {
  if (parts.length === 1 && guards === 0) return parts[0]!;
  const key = [guards, ...parts.map(({ statement }) => statement.name)].join(' ');
  let statement = combined.get(key);
  if (!statement) {
    const isPrepared = combined.size < combinedMax;
    const name = isPrepared ? `combined_${combined.size + 1}` : '';
    statement = { name, text: combineTexts(parts, guards), parts: parts.map((part) => part.statement), guards };
    if (isPrepared) combined.set(key, statement);
  }
  return { statement, values: parts.flatMap(({ values }) => values) };
}

/** Whether a guard returned no row. Division by zero (22012) is the plainest way to fail inside a statement. */
export function isGuardFailure(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22012';
}

function combineTexts(parts: readonly BoundStatement[], guards: number): string {
  let before = 0;
  const texts = parts.map(({ statement, values }) => {
    const first = before;
    before += values.length;
    return statement.text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + first}`);
  });
  const guarding = parts.slice(0, guards).map((_, at) => `part_${at + 1}`);
  const check = guards === 0 ? '' : `1 / (select count(*) from ${guarding.join(', ')})`;
  return `with ${texts.map((text, at) => `part_${at + 1} as (${text})`).join(', ')} select ${check}`;
}
