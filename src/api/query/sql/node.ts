/** The tree of a SELECT, as DuckDB serializes it, and how it is read: nothing in it is overlooked. */
import { QueryError } from '../language/query-error.ts';

/** A part of the tree. Numbers in it are texts, as they are written. */
export type SqlNode = Readonly<Record<string, unknown>>;

/** What a query may not have. */
export function refused(what: string): QueryError {
  return new QueryError('query_invalid', `${what} is not possible here.`);
}

/** Parses a tree. Numbers stay as they are written, because a double cannot hold all of them. */
export function parseTree(json: string): SqlNode {
  const asWritten = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' ? context!.source : value;
  try {
    return JSON.parse(json, asWritten) as SqlNode;
  } catch (error) {
    // The engine writes numbers that are beyond a double as Infinity, and how deep JSON.parse goes depends on the
    // stack.
    throw new QueryError('query_invalid', 'The query has a number that is too large, or is nested too deep.', {
      cause: error,
    });
  }
}

/** These members of a node. Any other that is set is a part of SQL that is not known here. */
export function take<const Name extends string>(
  node: SqlNode,
  ...names: readonly Name[]
): Readonly<Record<Name, unknown>> {
  for (const [name, value] of Object.entries(node)) {
    if (!common.has(name) && !(names as readonly string[]).includes(name) && isSet(value))
      throw refused(wordOf.get(name) ?? `${nodeName(node)} with ${name}`);
  }
  return node as Readonly<Record<Name, unknown>>;
}

/** How members are written in SQL. */
const wordOf: ReadonlyMap<string, string> = new Map([
  ['sample', 'A sample'],
  ['at_clause', 'AT'],
  ['key_targets', 'USING KEY'],
  ['columns', 'COLUMNS'],
  ['catalog', 'A function with a catalog'],
  ['user_type_modifiers', 'Such a type'],
]);

const common: ReadonlySet<string> = new Set(['class', 'type', 'query_location', 'named_param_map']);

export function isSet(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}

/** What a node is, for messages. */
export function nodeName({ class: kind, type }: SqlNode): string {
  return String(typeof type === 'string' ? type : kind).replaceAll('_', ' ');
}

export function text(value: unknown): string {
  if (typeof value !== 'string') throw refused('A part that is not known');
  return value;
}

export function node(value: unknown): SqlNode {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('A part that is not known');
  return value as SqlNode;
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw refused('A part that is not known');
  return value;
}

export function nodes(value: unknown): readonly SqlNode[] {
  return list(value).map(node);
}

/** The value of a word in a table of those that are known. */
export function known<T>(table: ReadonlyMap<string, T>, word: unknown, what: string): T {
  const found = table.get(String(word));
  if (found === undefined) throw refused(`${what} ${String(word).replaceAll('_', ' ')}`);
  return found;
}
