/**
 * Statements over rows of parameters: one SQL text for any number of rows. A single row has a second text with scalar
 * parameters, which takes Postgres two thirds of the time that one-element arrays take.
 */
import { bind, type BoundStatement } from './combine.ts';
import { atOnce, type Steps } from '../../language/time-slices.ts';
import type { Statement, Tx } from './pipelined-client.ts';

/**
 * The type of a parameter. `lines`: text without line breaks; many rows are sent as lines of one text, because an array
 * would escape every quote of JSON. Null is sent as an empty line.
 */
export type ParameterType = 'int2' | 'int4' | 'int8' | 'bool' | 'uuid' | 'text' | 'bytea' | 'lines';

/** The parameter types of a row, by property name. */
export type Parameters<T> = { readonly [Name in keyof T]: ParameterType };

/** Types whose array elements need no escaping. */
const plainTypes: ReadonlySet<ParameterType> = new Set(['int2', 'int4', 'int8', 'bool', 'uuid']);

/** The name of a column: `row_bytes_max` of `rowBytesMax`. */
export function columnName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * @typeParam T a row of parameters
 * @typeParam Row a row that the statement returns
 */
export class RowsStatement<T extends object, Row extends object = object> {
  readonly #parameters: readonly (readonly [name: keyof T, type: ParameterType])[];
  readonly #one: Statement<Row>;
  readonly #many: Statement<Row>;

  /**
   * @param text builds the SQL around the rows: `from ${rows('given')}`, whose columns are named after the parameters
   */
  constructor(name: string, parameters: Parameters<T>, text: (rows: (alias: string) => string) => string) {
    const all = Object.entries(parameters) as [keyof T & string, ParameterType][];
    // Each `lines` parameter has its own table function, after the unnest of all arrays.
    this.#parameters = [...all.filter(([, type]) => type !== 'lines'), ...all.filter(([, type]) => type === 'lines')];
    const types = this.#parameters.map(([, type]) => type);
    const names = this.#parameters.map(([property]) => columnName(property as string)).join(', ');
    const [one, many] = [`(values (${types.map(oneParameter).join(', ')}))`, `rows from (${manyParameters(types)})`];
    this.#one = { name: `${name}_1`, text: text((alias) => `${one} as ${alias}(${names})`) };
    this.#many = { name, text: text((alias) => `${many} as ${alias}(${names})`) };
  }

  /** `rows` must not be empty. */
  bind(rows: readonly T[]): BoundStatement<Row> {
    return atOnce(this.binding(rows));
  }

  /** Does the same as `bind` in steps, one for each column, for up to about 100,000 rows. */
  *binding(rows: readonly T[]): Steps<BoundStatement<Row>> {
    if (rows.length === 1)
      return bind(
        this.#one,
        this.#parameters.map(([name, type]) => oneValue(type, rows[0]![name])),
      );
    const values: unknown[] = [];
    for (const [name, type] of this.#parameters) {
      values.push(
        manyValues(
          type,
          rows.map((row) => row[name]),
        ),
      );
      yield;
    }
    return bind(this.#many, values);
  }

  /** Runs the statement over these rows, at least one. */
  async find(tx: Tx, rows: readonly T[]): Promise<Row[]> {
    const { statement, values } = this.bind(rows);
    return (await tx.query(statement, values)).rows;
  }
}

function oneParameter(type: ParameterType, at: number): string {
  return `$${at + 1}::${type === 'lines' ? 'text' : type}`;
}

function manyParameters(types: readonly ParameterType[]): string {
  const arrays = types.flatMap((type, at) => (type === 'lines' ? [] : [`$${at + 1}::${type}[]`]));
  const lines = types.flatMap((type, at) => (type === 'lines' ? [`string_to_table($${at + 1}, E'\\n')`] : []));
  return [`unnest(${arrays.join(', ')})`, ...lines].join(', ');
}

function oneValue(type: ParameterType, value: unknown): unknown {
  return type === 'lines' ? (value ?? '') : value;
}

function manyValues(type: ParameterType, values: readonly unknown[]): unknown {
  // A null is an empty line.
  if (type === 'lines') return values.join('\n');
  return plainTypes.has(type) ? arrayText(values) : values;
}

/** An array literal of values that need no escaping. The driver would escape each element as text. */
function arrayText(values: readonly unknown[]): string {
  let text = '{';
  for (const value of values)
    text += `${text.length > 1 ? ',' : ''}${value === null ? 'NULL' : String(value as bigint)}`;
  return `${text}}`;
}

/** A statement to be bound to its rows, in steps; none if there are no rows. */
export function storing<Row extends object>(
  rows: readonly Row[],
  statement: RowsStatement<Row>,
): Steps<BoundStatement>[] {
  return rows.length === 0 ? [] : [statement.binding(rows)];
}
