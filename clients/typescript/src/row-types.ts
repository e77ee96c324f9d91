/** Writes the types of rows in TypeScript. */
import type { ColumnType } from './table.ts';

/** The parts of a table's description that are needed here. */
export interface TypedTable {
  readonly id: string;
  readonly name: string;
  readonly schema: { readonly columns: readonly { readonly id: string; readonly type: ColumnType }[] };
}

/** An interface for the rows of each table, for `client.table<Row>(id)`. Its name is made of the table's name. */
export function describeRowTypes(tables: readonly TypedTable[]): string {
  const taken = new Set<string>();
  return tables
    .map(({ id, name, schema }) => {
      const members = schema.columns.map((column) => `  ${keyOf(column.id)}?: ${typeOf(column.type)};\n`);
      return `/** A row of the table ${JSON.stringify(name).replaceAll('*/', '*\\/')} (${id}). */\nexport interface ${nameOf(name, taken)} {\n${members.join('')}}\n`;
    })
    .join('\n');
}

/** `MyCars` for "my cars": a name that no earlier table has. */
function nameOf(name: string, taken: Set<string>): string {
  const words = name.normalize('NFKC').match(/[\p{L}\p{N}]+/gu) ?? ['table'];
  const joined = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  const begin = /^\p{L}/u.test(joined) ? joined : `Table${joined}`;
  let unique = begin;
  for (let number = 2; taken.has(unique); number += 1) unique = `${begin}${number}`;
  taken.add(unique);
  return unique;
}

function keyOf(id: string): string {
  return /^[A-Za-z_]\w*$/.test(id) ? id : JSON.stringify(id);
}

/** The TypeScript of each scalar type. */
const scalars: Readonly<Record<Extract<ColumnType, string>, string>> = {
  string: 'string',
  uri: 'string',
  url: 'string',
  imageURI: 'string',
  audioURI: 'string',
  markdown: 'string',
  phoneNumber: 'string',
  emailAddress: 'string',
  emoji: 'string',
  date: 'string',
  time: 'string',
  dateTime: 'string',
  duration: 'string',
  number: 'number',
  boolean: 'boolean',
  json: 'unknown',
};

function typeOf(type: ColumnType): string {
  if (typeof type === 'string') return scalars[type];
  return type.kind === 'array' ? `${scalars[type.items.kind]}[]` : scalars[type.kind];
}
