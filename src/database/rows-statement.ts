/**
 * Statements over rows of parameters: one text for any number of rows. Where there is one row only, its values are
 * parameters of their own, which Postgres runs in two thirds of the time that it takes with arrays of one.
 */
import { bind, type BoundStatement } from './combine.ts';
import type { Statement } from './pipelined-client.ts';

/**
 * The type of a column. `lines` is text without line breaks, sent as lines of one text when there are many: an array
 * would escape every quote of JSON.
 */
export type ColumnKind = 'int2' | 'int4' | 'int8' | 'bool' | 'uuid' | 'text' | 'lines';

/** A column of the parameters: its type and its value in each row. */
export type ParameterColumn<T> = readonly [kind: ColumnKind, valueOf: (row: T, at: number) => unknown];

/** What no element of an array needs to be escaped for. */
const plainKinds: ReadonlySet<ColumnKind> = new Set(['int2', 'int4', 'int8', 'bool', 'uuid']);

export class RowsStatement<T> {
  readonly #columns: readonly ParameterColumn<T>[];
  readonly #one: Statement;
  readonly #many: Statement;

  /**
   * @param columns all `lines` come last
   * @param text gives the statement over the rows: `from ${rows} as given(a, b)`
   */
  constructor(name: string, columns: readonly ParameterColumn<T>[], text: (rows: string) => string) {
    this.#columns = columns;
    this.#one = { name: `${name}_1`, text: text(`(values (${columns.map(oneParameter).join(', ')}))`) };
    this.#many = { name, text: text(`rows from (${manyParameters(columns.map(([kind]) => kind))})`) };
  }

  /** `rows` are at least one. */
  bind(rows: readonly T[]): BoundStatement {
    if (rows.length === 1) return bind(this.#one, this.#columns.map(([, valueOf]) => valueOf(rows[0]!, 0)));
    return bind(this.#many, this.#columns.map(([kind, valueOf]) => parameterOf(kind, rows.map(valueOf))));
  }
}

function oneParameter<T>([kind]: ParameterColumn<T>, at: number): string {
  return `$${at + 1}::${kind === 'lines' ? 'text' : kind}`;
}

function manyParameters(kinds: readonly ColumnKind[]): string {
  const arrays = kinds.flatMap((kind, at) => (kind === 'lines' ? [] : [`$${at + 1}::${kind}[]`]));
  const lines = kinds.flatMap((kind, at) => (kind === 'lines' ? [`string_to_table($${at + 1}, E'\\n')`] : []));
  return [`unnest(${arrays.join(', ')})`, ...lines].join(', ');
}

function parameterOf(kind: ColumnKind, values: readonly unknown[]): unknown {
  if (kind === 'lines') return values.join('\n');
  return plainKinds.has(kind) ? arrayText(values) : values;
}

/** An array of what needs no escapes. The driver would escape each element as if it could be any text. */
function arrayText(values: readonly unknown[]): string {
  let text = '{';
  for (const value of values) text += `${text.length > 1 ? ',' : ''}${value === null ? 'NULL' : String(value as bigint)}`;
  return `${text}}`;
}
