/**
 * Reads the syntax tree of a SELECT that DuckDB serializes. Unknown members are refused, so nothing in the tree is
 * overlooked.
 */
import { QueryError } from '../language/query-error.ts';

/** A node of the tree. Numbers are texts in their original spelling. */
export type SqlNode = Readonly<Record<string, unknown>>;

/** The error for a part of SQL that is not supported. */
export function refused(what: string): QueryError {
  return new QueryError('query_invalid', `${what} is not supported here.`);
}

/** Parses a tree. Numbers become texts, because a double cannot hold all of them. Throws QueryError. */
export function parseTree(json: string): SqlNode {
  const asWritten = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' ? context!.source : value;
  try {
    return JSON.parse(json, asWritten) as SqlNode;
  } catch (error) {
    // The engine writes numbers beyond the range of a double as Infinity. The depth that JSON.parse supports depends on
    // the stack.
    throw new QueryError('query_invalid', 'The query has a number that is too large, or is nested too deep.', {
      cause: error,
    });
  }
}

/**
 * Takes these members of a node. Throws QueryError if any other member is set, because it is an unknown part of SQL.
 */
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

/** The names of members in messages. */
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

/** The name of a node in messages. */
export function nodeName({ class: kind, type }: SqlNode): string {
  return String(typeof type === 'string' ? type : kind).replaceAll('_', ' ');
}

export function text(value: unknown): string {
  if (typeof value !== 'string') throw refused('This part of SQL');
  return value;
}

export function node(value: unknown): SqlNode {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('This part of SQL');
  return value as SqlNode;
}

export function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw refused('This part of SQL');
  return value;
}

export function nodes(value: unknown): readonly SqlNode[] {
  return list(value).map(node);
}

/** Looks a word up in a table. Throws QueryError if it is unknown; `what` is the subject of the message. */
export function known<T>(table: ReadonlyMap<string, T>, word: unknown, what: string): T {
  const found = table.get(String(word));
  if (found === undefined) throw refused(`${what} ${String(word).replaceAll('_', ' ')}`);
  return found;
}

/** Splits an expression from its alias, which may be the name of an argument. */
export function withoutAlias(given: SqlNode): { readonly alias: string; readonly unnamed: SqlNode } {
  return { alias: text(given['alias'] ?? ''), unnamed: { ...given, alias: '' } };
}
