/** SQL for the types that a query may cast to. */
import { QueryError } from '../language/query-error.ts';
import { encodeName } from './names.ts';
import { node, nodes, refused, take, text, type SqlNode } from './node.ts';

const simple: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'TINYINT',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'HUGEINT',
  'UTINYINT',
  'USMALLINT',
  'UINTEGER',
  'UBIGINT',
  'UHUGEINT',
  'FLOAT',
  'DOUBLE',
  'VARCHAR',
  'BLOB',
  'DATE',
  'TIME',
  'TIMESTAMP',
  'TIMESTAMP_S',
  'TIMESTAMP_MS',
  'TIMESTAMP_NS',
  'TIMESTAMP WITH TIME ZONE',
  'INTERVAL',
  'UUID',
]);

const number = /^\d{1,6}$/;
const depthMax = 20;

/**
 * Limit of the elements of an array type, including nested arrays. DuckDB allocates all of them for each row, even for
 * NULL.
 */
const arrayElementsMax = 1000;

/** The SQL of a type. `elements` is how many values of it an array around it has. Throws QueryError. */
export function typeText(type: SqlNode, depth = 0, elements = 1): string {
  if (depth > depthMax) throw refused('A type with such deep nesting');
  const { id, type_info: info } = take(type, 'id', 'type_info');
  const child = (inner: unknown, times = 1): string => typeText(node(inner), depth + 1, elements * times);
  if (simple.has(text(id)) && info === null) return text(id);
  if (id === 'DECIMAL') {
    if (info === null) return 'DECIMAL';
    const { width, scale } = take(node(info), 'width', 'scale');
    return `DECIMAL(${digits(width)}, ${digits(scale)})`;
  }
  if (id === 'LIST') return `${child(take(node(info), 'child_type').child_type)}[]`;
  if (id === 'ARRAY') {
    const { child_type: item, size } = take(node(info), 'child_type', 'size');
    const length = digits(size);
    if (elements * Number(length) > arrayElementsMax)
      throw new QueryError('limit_exceeded', `An array has more than ${arrayElementsMax} elements: use a list.`);
    return `${child(item, Number(length))}[${length}]`;
  }
  if (id === 'MAP') {
    const entry = node(take(node(info), 'child_type').child_type);
    const [key, value] = membersOf(take(entry, 'id', 'type_info').type_info);
    return `MAP(${child(key?.type)}, ${child(value?.type)})`;
  }
  if (id === 'STRUCT')
    return `STRUCT(${membersOf(info)
      .map((member) => `"${encodeName(member.name)}" ${child(member.type)}`)
      .join(', ')})`;
  if (id === 'UNBOUND' && /^json$/i.test(text(take(node(info), 'name').name))) return 'JSON';
  throw refused(`The type ${id === 'UNBOUND' ? String(node(info)['name']) : String(id)}`);
}

function membersOf(info: unknown): { readonly name: string; readonly type: unknown }[] {
  return nodes(take(node(info), 'child_types').child_types).map((member) => {
    const { first, second } = take(member, 'first', 'second');
    return { name: text(first), type: second };
  });
}

function digits(value: unknown): string {
  if (!number.test(text(value))) throw refused('A type of this form');
  return text(value);
}
