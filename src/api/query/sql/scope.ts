/**
 * What the names in a query stand for. The engine puts an expression in place of the alias or column that stands for
 * it, and a type that has another twice is twice as large. So a query is as large as it would be with all of them
 * written out, and that is counted.
 */
import type { SqlNode } from './node.ts';

/** The columns of something that is read, and how many parts stand behind each. */
export class Columns {
  /** By name; `*` is any column of another name. */
  readonly #parts = new Map<string, number>();
  #count = 0;
  #width = 0;

  /** Adds a column, or several. `width`: the parts of all of them. */
  add(name: string, parts: number, count = 1, width = parts * count): this {
    const most = Math.max(parts, this.#parts.get(name) ?? 1);
    // Of columns with one name the engine gives the later ones others.
    if (this.has(name)) this.#parts.set('*', Math.max(most, this.#parts.get('*') ?? 1));
    this.#parts.set(name, most);
    this.#count += count;
    this.#width += width;
    return this;
  }

  /** Puts a column in the place of the one that has the name. */
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

  /** The parts behind the column with the most. */
  get largest(): number {
    return Math.max(1, ...this.#parts.values());
  }

  get count(): number {
    return this.#count;
  }

  /** The parts of a whole row. */
  get width(): number {
    return this.#width;
  }

  /** Those of a query that is put together with another, by place or by name. */
  united(others: Columns): Columns {
    const columns = new Columns();
    const [left, right] = [this.largest, others.largest];
    for (const name of new Set([...this.#parts.keys(), ...others.#parts.keys()]))
      columns.add(name, (this.#parts.get(name) ?? left) + (others.#parts.get(name) ?? right), 0);
    columns.#count = Math.max(this.#count, others.#count, columns.#parts.size);
    columns.#width = this.#width + others.#width;
    return columns;
  }

  /** The same with other names, each for any of them. */
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
 * The rows that the windows of a SELECT read, as a query with these expressions as its columns `_p0`, `_p1` and so on.
 * Null if they cannot be written so: an expression names an alias of the SELECT, or a group does.
 */
export type WindowInput = (columns: readonly SqlNode[]) => string | null;

/** A common table expression: its name in the text, which nothing else has. */
interface CommonTable {
  readonly name: string;
  readonly columns: Columns;
}

export class Scope {
  readonly #outer: Scope | null;
  readonly #tables = new Map<string, CommonTable>();
  /**
   * What this query reads, by alias, and its aliases and parameters. A name may stand for any of those that have it.
   */
  readonly #relations: (readonly [alias: string, columns: Columns])[] = [];
  readonly #parts = new Map<string, number>();
  /** Null for what is no SELECT. */
  windowInput: WindowInput | null = null;

  constructor(outer: Scope | null = null) {
    this.#outer = outer;
  }

  /** Adds a common table expression, which also what is within sees. */
  addTable(key: string, table: CommonTable): void {
    this.#tables.set(key, table);
  }

  table(key: string): CommonTable | undefined {
    return this.#tables.get(key) ?? this.#outer?.table(key);
  }

  /** Adds what FROM reads. */
  addRelation(alias: string, columns: Columns): void {
    this.#relations.push([alias, columns]);
    this.addName(alias, columns.width);
  }

  /** Adds an alias of an expression, or a parameter of a lambda. */
  addName(name: string, parts: number): void {
    this.#parts.set(name, Math.max(parts, this.#parts.get(name) ?? 1));
  }

  /** How many parts stand behind a column. Its name may come after that of a table, and before those of members. */
  partsOf([name, column]: readonly string[]): number {
    const relation = this.#relation(name!);
    if (column !== undefined && relation !== undefined) return relation.partsOf(column);
    return Math.max(
      this.#parts.get(name!) ?? 1,
      ...this.#relations.map(([, columns]) => columns.partsOf(name!)),
      this.#outer?.partsOf([name!]) ?? 1,
    );
  }

  /** How many parts stand behind the column with the most, whatever its name. */
  partsOfAny(): number {
    return this.columnsOf('').largest;
  }

  hasRelation(alias: string): boolean {
    return this.#relation(alias) !== undefined;
  }

  /**
   * Whether a name after that of what FROM reads is one of its columns; null if it may be, because not all of its
   * columns are known.
   */
  hasColumn(alias: string, column: string): boolean | null {
    const relation = this.#relation(alias);
    if (relation === undefined) return false;
    return relation.has(column) || (relation.has('*') ? null : false);
  }

  /** The columns that `*` stands for, or `alias.*`. */
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
