/**
 * The names in a query, and the sizes of the expressions that they stand for. The engine replaces an alias or a column
 * by its expression, and a type that contains another one twice is twice as large. So the size of a query is counted
 * with all names replaced.
 */
import type { SqlNode } from './node.ts';

/** The columns of a relation, and the number of parts of each. */
export class Columns {
  /** The parts by name; `*` means any column with another name. */
  readonly #parts = new Map<string, number>();
  #count = 0;
  #width = 0;

  /** Adds one or several columns. `width` is the number of parts of all of them. */
  add(name: string, parts: number, count = 1, width = parts * count): this {
    const most = Math.max(parts, this.#parts.get(name) ?? 1);
    // If several columns have one name, the engine renames the later ones.
    if (this.has(name)) this.#parts.set('*', Math.max(most, this.#parts.get('*') ?? 1));
    this.#parts.set(name, most);
    this.#count += count;
    this.#width += width;
    return this;
  }

  /** Replaces the column with this name. */
  replace(name: string, parts: number): void {
    this.#parts.set(name, parts);
    this.#width += parts;
  }

  addAll(others: Columns): void {
    for (const [name, parts] of others.#parts) this.add(name, parts, 0);
    this.#count += others.#count;
    this.#width += others.#width;
  }

  /** Adds the members of a row, each as a column. */
  addMembers(parts: number): void {
    this.add('*', parts, parts, parts);
  }

  has(name: string): boolean {
    return this.#parts.has(name);
  }

  partsOf(name: string): number {
    return this.#parts.get(name) ?? this.#parts.get('*') ?? 1;
  }

  /** The number of parts of the largest column. */
  get largest(): number {
    return Math.max(1, ...this.#parts.values());
  }

  get count(): number {
    return this.#count;
  }

  /** The number of parts of a whole row. */
  get width(): number {
    return this.#width;
  }

  /** The columns of a set operation with another query, by position or by name. */
  united(others: Columns): Columns {
    const columns = new Columns();
    const [left, right] = [this.largest, others.largest];
    for (const name of new Set([...this.#parts.keys(), ...others.#parts.keys()]))
      columns.add(name, (this.#parts.get(name) ?? left) + (others.#parts.get(name) ?? right), 0);
    columns.#count = Math.max(this.#count, others.#count, columns.#parts.size);
    columns.#width = this.#width + others.#width;
    return columns;
  }

  /** The same columns with other names. Each name may stand for any of the columns. */
  renamed(names: readonly string[]): Columns {
    if (names.length === 0) return this;
    const columns = new Columns();
    const { largest } = this;
    for (const name of ['*', ...names]) columns.add(name, largest, 0);
    columns.#count = this.#count;
    columns.#width = this.#width;
    return columns;
  }
}

/**
 * The input of a SELECT's windows as a query, with these expressions as the columns `_p0`, `_p1` and so on. Null if
 * that is not possible, because an expression or a group names an alias of the SELECT.
 */
export type WindowInput = (columns: readonly SqlNode[]) => string | null;

/** A common table expression, with its unique name in the compiled text. */
interface CommonTable {
  readonly name: string;
  readonly columns: Columns;
}

export class Scope {
  readonly #outer: Scope | null;
  readonly #tables = new Map<string, CommonTable>();
  /**
   * The relations of this query by alias, and below the sizes of its aliases and parameters. A name may stand for any
   * of those that have it.
   */
  readonly #relations: (readonly [alias: string, columns: Columns])[] = [];
  readonly #parts = new Map<string, number>();
  /** Null if this is not the scope of a SELECT. */
  windowInput: WindowInput | null = null;

  constructor(outer: Scope | null = null) {
    this.#outer = outer;
  }

  /** Adds a common table expression, which inner queries see, too. */
  addTable(key: string, table: CommonTable): void {
    this.#tables.set(key, table);
  }

  table(key: string): CommonTable | undefined {
    return this.#tables.get(key) ?? this.#outer?.table(key);
  }

  /** Adds a relation of FROM. */
  addRelation(alias: string, columns: Columns): void {
    this.#relations.push([alias, columns]);
    this.addName(alias, columns.width);
  }

  /** Adds an alias of an expression, or a parameter of a lambda. */
  addName(name: string, parts: number): void {
    this.#parts.set(name, Math.max(parts, this.#parts.get(name) ?? 1));
  }

  /** The number of parts of a column reference: perhaps a table, the column, and perhaps members. */
  partsOf([name, column]: readonly string[]): number {
    const relation = this.#relation(name!);
    if (column !== undefined && relation !== undefined) return relation.partsOf(column);
    return Math.max(
      this.#parts.get(name!) ?? 1,
      ...this.#relations.map(([, columns]) => columns.partsOf(name!)),
      this.#outer?.partsOf([name!]) ?? 1,
    );
  }

  /** The number of parts of the largest column. */
  partsOfAny(): number {
    return this.columnsOf('').largest;
  }

  hasRelation(alias: string): boolean {
    return this.#relation(alias) !== undefined;
  }

  /** Whether a relation of FROM has a column; null if that is unknown, because not all of its columns are known. */
  hasColumn(alias: string, column: string): boolean | null {
    const relation = this.#relation(alias);
    if (relation === undefined) return false;
    return relation.has(column) || (relation.has('*') ? null : false);
  }

  /** The columns of `*` or of `alias.*`. */
  columnsOf(alias: string): Columns {
    const named = alias === '' ? undefined : this.#relation(alias);
    if (named !== undefined) return named;
    const columns = new Columns();
    if (alias === '') for (const [, read] of this.#relations) columns.addAll(read);
    else columns.addMembers(this.partsOf([alias]));
    return columns;
  }

  #relation(alias: string): Columns | undefined {
    const own = this.#relations.find(([name]) => name === alias)?.[1];
    return own ?? (this.#outer === null ? undefined : this.#outer.#relation(alias));
  }
}
