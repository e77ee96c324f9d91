/**
 * The tables of the read model and of the log, and the statements on them that are generated from entities
 * (src/storage/database/stored-table.ts).
 */
import { BigIntType, type EntitySchema } from '@mikro-orm/core';
import { OutcomeEntity } from '../../src/log/outcomes/outcome.entity.ts';
import { ProgressEntity } from '../../src/log/progress/progress.entity.ts';
import { models } from '../../projections/models.ts';
import { allPartitions } from '../../src/log/partition.ts';
import { onReadModel, type Handler } from './handler.ts';
import { partitions } from './partitions.ts';
import { postgresError, type TableRow, type Tables, type View } from './view.ts';

interface TableOfRows {
  readonly name: string;
  readonly key: readonly string[];
  /** Properties declared as bigint that programs see as numbers. */
  readonly numbers: ReadonlySet<string>;
  readonly defaults: TableRow;
}

/** The code with which Postgres refuses rows that it cannot store (`refuses`): untranslatable_character. */
export const refusedRowsCode = '22P05';

const entities: readonly EntitySchema[] = [
  ProgressEntity,
  OutcomeEntity,
  ...Object.values(models).flatMap((model) => model.entities),
];

const tables = new Map(
  entities.map(({ meta }) => {
    const declared = Object.entries(
      meta.properties as Readonly<Record<string, { primary?: boolean; type: unknown; default?: unknown }>>,
    );
    const properties = declared.map(([name, property]) => ({ ...property, name }));
    const table: TableOfRows = {
      name: meta.tableName!,
      key: properties.filter(({ primary }) => primary).map(({ name }) => name),
      numbers: new Set(
        properties.filter(({ type }) => type instanceof BigIntType && type.mode === 'number').map(({ name }) => name),
      ),
      defaults: Object.fromEntries(
        properties.map(({ name, default: preset }) => [name, preset === false || preset === 'false' ? false : null]),
      ),
    };
    return [table.name, table];
  }),
);

export function rowsOfPartitions(row: (partition: number) => TableRow): Map<string, TableRow> {
  return new Map(allPartitions(partitions).map((partition) => [String(partition), row(partition)]));
}

/** A partition in a new read model. */
const begun = {
  next: 0n,
  epoch: 0n,
  logId: null as string | null,
  base: 0n,
  gaps: '[]',
  layout: 0n,
  lastHash: null as Uint8Array | null,
  time: 0,
  halted: null as string | null,
  contradicted: false,
  caughtUp: false,
  failedAt: null as bigint | null,
  failure: null as string | null,
  held: '{}',
};

/** The progress of a partition. */
export type ProgressRow = TableRow & Readonly<typeof begun> & { readonly partition: number };

/** The tables of a new read model. */
export function emptyReadModel(): Tables {
  return new Map([['progress', rowsOfPartitions((partition) => ({ partition, ...begun }))]]);
}

export function keyOf(table: string, row: TableRow): string {
  return tables
    .get(table)!
    .key.map((name) => String(row[name]))
    .join(' ');
}

function propertyOf(column: string): string {
  return column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

interface GivenRows {
  readonly names: readonly string[];
  readonly types: readonly string[];
  readonly isOne: boolean;
}

const parsed = new Map<string, GivenRows>();

/** The parameters of a RowsStatement. */
function givenRowsOf(text: string): GivenRows {
  const known = parsed.get(text);
  if (known) return known;
  const [, many, one, columns] = /from|using/.test(text)
    ? (/(?:from|using) (?:rows from \((.+)\)|\(values \((.+)\)\)) as \w+\(([a-z_, ]+)\)/s.exec(text) ?? [])
    : [];
  const source = many ?? one;
  if (source === undefined) throw new Error(`no rows are given to ${text}`);
  const types = [...source.matchAll(/\$\d+(?:::(\w+))?/g)].map(([, type]) =>
    many !== undefined && type === undefined ? 'lines' : type!,
  );
  const rows = { names: columns!.split(', ').map(propertyOf), types, isOne: one !== undefined };
  parsed.set(text, rows);
  return rows;
}

/** The rows to which a RowsStatement was bound. */
export function decodeRows(text: string, values: readonly unknown[]): TableRow[] {
  const { names, types, isOne } = givenRowsOf(text);
  if (isOne) return [Object.fromEntries(names.map((name, at) => [name, toValue(types[at]!, values[at])]))];
  const columns = types.map((type, at) => toValues(type, values[at]));
  return columns[0]!.map((_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at]![row]])));
}

function toValues(type: string, value: unknown): readonly unknown[] {
  if (type === 'lines') return (value as string).split('\n');
  const elements =
    typeof value === 'string' ? (value === '{}' ? [] : value.slice(1, -1).split(',')) : (value as readonly unknown[]);
  return elements.map((element) => toValue(type, element === 'NULL' ? null : element));
}

function toValue(type: string, value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'int8') return BigInt(value as string);
  if (type === 'int4' || type === 'int2') return Number(value);
  if (type === 'bool') return value === true || value === 't' || value === 'true';
  return value;
}

/** A row as it is stored. */
function toStored({ numbers, defaults }: TableOfRows, row: TableRow): TableRow {
  const stored: Record<string, unknown> = { ...defaults, ...row };
  for (const name of numbers) if (typeof stored[name] === 'bigint') stored[name] = Number(stored[name]);
  return stored;
}

/** The effect of a generated insert, upsert, update or delete; null if the statement is none of these. */
export function generatedWrite(text: string): Handler | null {
  const [, inserted, updated, deleted] =
    /^(?:insert into (\w+) \([^)]*\) select|update (\w+) set [^$]*? from|delete from (\w+) using)/s.exec(text) ?? [];
  const table = tables.get(inserted ?? updated ?? deleted ?? '');
  if (table === undefined) return null;
  const put = (view: View, row: TableRow): void => view.put(table.name, keyOf(table.name, row), toStored(table, row));
  return onReadModel((view, values) => {
    const rows = decodeRows(text, values).map((row) => nullEmptyLines(text, row));
    if (rows.some(({ body }) => typeof body === 'string' && view.server.refuses(body, view.name)))
      throw postgresError(refusedRowsCode);
    for (const row of rows) {
      const key = keyOf(table.name, row);
      const before = view.get(table.name, key);
      if (deleted !== undefined) view.put(table.name, key, null);
      else if (updated !== undefined) {
        if (before !== null) put(view, { ...before, ...row });
      } else if (before === null) put(view, row);
      else if (text.includes('on conflict do nothing')) continue;
      else if (!text.includes('on conflict')) throw postgresError('23505', `${table.name}_pkey`);
      else {
        const set = [...text.matchAll(/(\w+) = excluded\.(\w+)/g)].map(([, column]) => propertyOf(column!));
        const replaced = text.includes('replaced_time = outcomes.time') ? { replacedTime: before['time'] } : {};
        put(view, { ...before, ...Object.fromEntries(set.map((name) => [name, row[name]])), ...replaced });
      }
    }
    return rows;
  });
}

/** In a nullable column of lines, null is sent as an empty line. */
function nullEmptyLines(text: string, row: TableRow): TableRow {
  if (!text.includes('nullif(')) return row;
  const nullable = [...text.matchAll(/nullif\(given\.(\w+)/g)].map(([, column]) => propertyOf(column!));
  return { ...row, ...Object.fromEntries(nullable.map((name) => [name, row[name] === '' ? null : row[name]])) };
}
