/**
 * What the names in a query stand for. The engine puts an expression in place of the alias or column that stands for it, and a type that has another
 * twice is twice as large. So a query is as large as it would be with all of them written out, and that is counted.
 */

/** How many parts stand behind each column of something that is read. `*` is any column of another name; without it, that is one part. */
export type Columns = ReadonlyMap<string, number>;

/** A common table expression: its name in the text, which nothing else has. */
export interface CommonTable {
  readonly name: string;
  readonly columns: Columns;
}

export class Scope {
  readonly #outer: Scope | null;
  readonly #tables = new Map<string, CommonTable>();
  /** What this query reads, by alias, and its aliases and parameters. A name may stand for any of those that have it. */
  readonly #relations: (readonly [alias: string, columns: Columns])[] = [];
  readonly #parts = new Map<string, number>();

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

  /** Adds what FROM reads. `width`: the parts of a whole row of it. */
  addRelation(alias: string, columns: Columns, width = [...columns.values()].reduce((sum, parts) => sum + parts, 0)): void {
    this.#relations.push([alias, columns]);
    this.addName(alias, width);
  }

  /** Adds an alias of an expression, or a parameter of a lambda. */
  addName(name: string, parts: number): void {
    this.#parts.set(name, Math.max(parts, this.#parts.get(name) ?? 1));
  }

  /** How many parts stand behind a column. Its name may come after that of a table, and before those of members. */
  partsOf([name, column]: readonly string[]): number {
    if (column !== undefined && this.#relation(name!) !== undefined) return largest([this.#relation(name!)!], column);
    return Math.max(this.#parts.get(name!) ?? 1, largest(this.#relations.map(([, columns]) => columns), name!), this.#outer?.partsOf([name!]) ?? 1);
  }

  /** How many parts stand behind the column with the most, whatever its name. */
  partsOfAny(): number {
    return Math.max(1, ...this.columnsOf('').values());
  }

  hasRelation(alias: string): boolean {
    return this.#relation(alias) !== undefined;
  }

  /** The columns that `*` stands for, or `alias.*`. */
  columnsOf(alias: string): Columns {
    if (alias === '') return joined(this.#relations.map(([, columns]) => columns));
    return this.#relation(alias) ?? new Map([['*', this.partsOf([alias])]]);
  }

  #relation(alias: string): Columns | undefined {
    const own = this.#relations.find(([name]) => name === alias)?.[1];
    return own ?? (this.#outer === null ? undefined : this.#outer.#relation(alias));
  }
}

/** Columns of several queries that become one, by place or by name. */
export function united(left: Columns, right: Columns): Columns {
  return new Map([...right, ...[...left].map(([name, parts]): [string, number] => [name, parts + (right.get(name) ?? Math.max(0, ...right.values()))])]);
}

/** Columns that get other names, each for any of them. */
export function renamed(columns: Columns, names: readonly string[]): Columns {
  return names.length === 0 ? columns : new Map(['*', ...names].map((name) => [name, Math.max(1, ...columns.values())]));
}

function joined(all: readonly Columns[]): Columns {
  return new Map(all.flatMap((columns) => [...columns.keys()]).map((name) => [name, largest(all, name)]));
}

function largest(all: readonly Columns[], name: string): number {
  return Math.max(1, ...all.map((columns) => columns.get(name) ?? columns.get('*') ?? 1));
}
