/**
 * Generates SQL from MikroORM entities: an entity declares the columns of a table once, and column lists and write
 * statements derive from it. Rows have the names and types of the entity's properties.
 */
import {
  BigIntType,
  BlobType,
  BooleanType,
  IntegerType,
  SmallIntType,
  StringType,
  TextType,
  Type,
  UuidType,
  type EntitySchema,
  type InferEntity,
} from '@mikro-orm/core';
import { columnName, RowsStatement, type Parameters, type ParameterType } from './rows-statement.ts';

/** Text without line breaks, sent without escapes (`lines`). A nullable column never holds an empty text. */
export class LineText extends Type<string, string> {
  override getColumnType(): string {
    return 'text';
  }
}

/** A column of bytes (`bytea`) that code reads and writes as hexadecimal digits. */
export class HexBytes extends Type<string, string> {
  override getColumnType(): string {
    return 'bytea';
  }

  override convertToJSValueSQL(key: string): string {
    return `encode(${key}, 'hex')`;
  }

  override convertToDatabaseValueSQL(key: string): string {
    return `decode(${key}, 'hex')`;
  }
}

/** A row of an entity's table. */
export type RowOf<Entity> = {
  readonly [Property in Extract<keyof InferEntity<Entity>, string>]-?: Exclude<
    InferEntity<Entity>[Property],
    undefined
  >;
};

interface Column {
  readonly property: string;
  readonly name: string;
  readonly type: unknown;
  readonly parameter: ParameterType;
  readonly isPrimary: boolean;
  readonly isNullable: boolean;
}

const parameterTypes: readonly (readonly [type: new () => Type<unknown, unknown>, parameter: ParameterType])[] = [
  [BigIntType, 'int8'],
  [IntegerType, 'int4'],
  [SmallIntType, 'int2'],
  [BooleanType, 'bool'],
  [UuidType, 'uuid'],
  [TextType, 'text'],
  [StringType, 'text'],
  [BlobType, 'bytea'],
  [LineText, 'lines'],
  [HexBytes, 'text'],
] as const;

/** @typeParam Row a row of the columns in use */
export class StoredTable<Row extends object> {
  readonly #name: string;
  readonly #columns: readonly Column[];

  private constructor(name: string, columns: readonly Column[]) {
    this.#name = name;
    this.#columns = columns;
  }

  /** The table of an entity, except the columns in `without`. */
  static of<Entity extends EntitySchema, Left extends keyof RowOf<Entity> = never>(
    entity: Entity,
    { without = [] }: { readonly without?: readonly Left[] } = {},
  ): StoredTable<Omit<RowOf<Entity>, Left>> {
    const columns = Object.entries(entity.meta.properties as Readonly<Record<string, Property>>)
      .filter(([property]) => !(without as readonly string[]).includes(property))
      .map(([property, declared]) => columnOf(property, declared));
    return new StoredTable(entity.meta.tableName!, columns);
  }

  /** The same table with only these columns. */
  only<Name extends keyof Row>(...properties: readonly Name[]): StoredTable<Pick<Row, Name>> {
    return new StoredTable(this.#name, this.#columnsOf(properties));
  }

  /** The select list, for the table under this alias: `tables.row_bytes_max as "rowBytesMax", ...`. */
  columns(of = this.#name): string {
    return this.#columns
      .map(({ property, name, type }) => `${selected(type, `${of}.${name}`)} as "${property}"`)
      .join(', ');
  }

  /** The select list of the columns that `verify` compares, under their names in Postgres: all except `without`. */
  compared({ without = [] }: { readonly without?: readonly (keyof Row)[] } = {}): string {
    const columns = this.#columns.filter(({ property }) => !without.includes(property as keyof Row));
    return columns
      .map(({ name, type, parameter }) => {
        const column = `${this.#name}.${name}`;
        return parameter === 'bytea' || type === HexBytes ? `encode(${column}, 'hex') as ${name}` : column;
      })
      .join(', ');
  }

  /** Some columns as parameters of a statement. */
  parameters<Name extends keyof Row>(...properties: readonly Name[]): Parameters<Pick<Row, Name>> {
    return this.#parametersOf(
      this.#columns.filter(({ property }) => properties.includes(property as Name)),
    ) as Parameters<Pick<Row, Name>>;
  }

  /** Inserts rows. `onConflict` is appended to the statement. */
  insert(name: string, onConflict = ''): RowsStatement<Row> {
    const columns = this.#columns;
    return new RowsStatement<Row>(name, this.#parametersOf(columns) as Parameters<Row>, (rows) =>
      `insert into ${this.#name} (${namesOf(columns)}) select ${columns.map(given).join(', ')} from ${rows('given')} ${onConflict}`.trimEnd(),
    );
  }

  /** Inserts rows. If the primary key exists, updates the columns in `set`, of which there must be at least one. */
  upsert(name: string, set: readonly [keyof Row, ...(keyof Row)[]]): RowsStatement<Row> {
    return this.insert(name, `on conflict (${namesOf(this.#key)}) do update set ${this.excluded(set)}`);
  }

  /** The SET list of an upsert: takes these columns from the row that was to be inserted. */
  excluded(set: readonly (keyof Row)[]): string {
    return this.#columnsOf(set)
      .map(({ name }) => `${name} = excluded.${name}`)
      .join(', ');
  }

  /** Updates these columns of existing rows. */
  update(name: string, set: readonly (keyof Row)[]): RowsStatement<Row> {
    const columns = this.#columnsOf(set);
    return new RowsStatement<Row>(
      name,
      this.#parametersOf([...this.#key, ...columns]) as Parameters<Row>,
      (rows) =>
        `update ${this.#name} set ${columns.map((column) => `${column.name} = ${given(column)}`).join(', ')} from ${rows('given')}
        where ${this.#hasKey}`,
    );
  }

  /** Deletes rows by their primary keys. */
  delete(name: string): RowsStatement<Row> {
    return new RowsStatement<Row>(
      name,
      this.#parametersOf(this.#key) as Parameters<Row>,
      (rows) => `delete from ${this.#name} using ${rows('given')} where ${this.#hasKey}`,
    );
  }

  get #key(): readonly Column[] {
    return this.#columns.filter(({ isPrimary }) => isPrimary);
  }

  get #hasKey(): string {
    return this.#key.map(({ name }) => `${this.#name}.${name} = given.${name}`).join(' and ');
  }

  #columnsOf(properties: readonly (keyof Row)[]): readonly Column[] {
    return this.#columns.filter(({ property }) => properties.includes(property as keyof Row));
  }

  #parametersOf(columns: readonly Column[]): Readonly<Record<string, ParameterType>> {
    return Object.fromEntries(columns.map(({ property, parameter }) => [property, parameter]));
  }
}

/** The names of a table's columns, and of the columns of its primary key. */
interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** Whether the first column of the key is a 64-bit number. */
  readonly isNumbered: boolean;
}

/** The table as its entity declares it, with the names in Postgres. */
export function shapeOf({ meta }: EntitySchema): TableShape {
  const properties = Object.entries(meta.properties as Readonly<Record<string, Property>>);
  const key = properties.filter(([, { primary }]) => primary === true);
  return {
    name: meta.tableName!,
    columns: properties.map(([property]) => columnName(property)),
    key: key.map(([property]) => columnName(property)),
    isNumbered: isOf(key[0]![1].type, BigIntType),
  };
}

/** A property as an entity declares it. */
interface Property {
  readonly type: unknown;
  readonly primary?: boolean;
  readonly nullable?: boolean;
}

function columnOf(property: string, { type, primary = false, nullable = false }: Property): Column {
  const [, parameter] = parameterTypes.find(([one]) => isOf(type, one)) ?? [];
  if (parameter === undefined) throw new Error(`no statement writes columns of the type of ${property}`);
  return { property, name: columnName(property), type, parameter, isPrimary: primary, isNullable: nullable };
}

/** A type is declared by its class, or by an instance of it. */
function isOf(type: unknown, one: new () => unknown): boolean {
  return type === one || type instanceof one;
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => name).join(', ');
}

/** The select expression of a column. A bigint declared as a number comes as a double. */
function selected(type: unknown, column: string): string {
  if (type instanceof BigIntType && type.mode === 'number') return `${column}::float8`;
  return type === HexBytes ? new HexBytes().convertToJSValueSQL(column) : column;
}

/** The column's value from the `given` row. */
function given({ name, type, parameter, isNullable }: Column): string {
  if (type === HexBytes) return new HexBytes().convertToDatabaseValueSQL(`given.${name}`);
  return parameter === 'lines' && isNullable ? `nullif(given.${name}, '')` : `given.${name}`;
}
