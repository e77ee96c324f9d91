/**
 * What a SELECT of a team may contain. It comes as the tree that DuckDB parses it to (`json_serialize_sql`), so that what is
 * checked is what runs. Only kinds of nodes and functions that are known pass, and each name of a table is replaced: by a view of a table of the team, or by that of a
 * common table expression, so that no name can mean anything else.
 */
import { allowedFunctions, allowedTableFunctions } from './sql-functions.ts';
import { QueryError } from './query-error.ts';

/** A node of the tree. */
export type SqlNode = Record<string, unknown>;

/** How the names of a query are replaced. */
export interface SqlNames {
  /** The view of a table that the query names. */
  readonly viewOf: (name: string) => string;
  /** The name of a column in the views, where that is not its ID. */
  readonly columnOf: (id: string) => string;
}

/** Nodes that are no expressions: queries, what they read, and parts of both. */
const kinds: ReadonlySet<string> = new Set([
  'SELECT_NODE', 'SET_OPERATION_NODE', 'RECURSIVE_CTE_NODE', 'CTE_NODE',
  'BASE_TABLE', 'TABLE_FUNCTION', 'SUBQUERY', 'JOIN', 'EMPTY', 'EXPRESSION_LIST', 'PIVOT',
  'ORDER_MODIFIER', 'LIMIT_MODIFIER', 'LIMIT_PERCENT_MODIFIER', 'DISTINCT_MODIFIER',
  'ORDER_DEFAULT', 'ASCENDING', 'DESCENDING',
]);
const expressionClasses: ReadonlySet<string> = new Set([
  'BETWEEN', 'CASE', 'CAST', 'COLLATE', 'COLUMN_REF', 'COMPARISON', 'CONJUNCTION', 'CONSTANT', 'DEFAULT', 'FUNCTION', 'LAMBDA', 'LAMBDA_REF', 'OPERATOR', 'PARAMETER',
  'POSITIONAL_REFERENCE', 'STAR', 'SUBQUERY', 'WINDOW', 'TYPE',
]);

/** The deepest tree that is looked at. */
const depthMax = 200;

const isRawJson = (JSON as unknown as { isRawJSON(value: unknown): boolean }).isRawJSON;

function refused(what: string): QueryError {
  return new QueryError('query_invalid', `${what} is not allowed here.`);
}

/** The names of the tables that the statement reads, which are not those of its common table expressions. Throws QueryError for what is not allowed. */
export function tablesOf(statement: SqlNode): string[] {
  const names = new Set<string>();
  rewrite(statement, {
    viewOf: (name) => {
      names.add(name);
      return name;
    },
    columnOf: (id) => id,
  });
  return [...names];
}

/** A copy of the statement with its names replaced. Throws QueryError for what is not allowed. */
export function rewrite(statement: SqlNode, names: SqlNames): SqlNode {
  let expressions = 0;

  const visit = (value: unknown, scope: ReadonlyMap<string, string>, depth: number): unknown => {
    if (depth > depthMax) throw new QueryError('query_invalid', 'The query is nested too deep.');
    if (Array.isArray(value)) return value.map((item: unknown) => visit(item, scope, depth + 1));
    // A number that is beyond a double stays as it is written.
    if (typeof value !== 'object' || value === null || isRawJson(value)) return value;
    const node = value as SqlNode;
    const inner = 'cte_map' in node ? withExpressions(node, scope) : scope;
    const { type, class: kind } = node as { readonly type?: unknown; readonly class?: string };
    if (kind !== undefined) {
      if (!expressionClasses.has(kind)) throw refused(`An expression of the kind ${kind}`);
      return visitExpression(node, inner, depth);
    }
    if (type === 'BASE_TABLE') return visitTable(node, inner, depth);
    if (type === 'TABLE_FUNCTION') return visitTableFunction(node, inner, depth);
    // The description of a type, as in a cast, has a kind of its own.
    if (typeof type === 'string' && !kinds.has(type) && !type.endsWith('_TYPE_INFO')) throw refused(type === 'SHOW_REF' ? 'DESCRIBE, SHOW or SUMMARIZE' : `A part of the kind ${type}`);
    const members = Object.entries(node).map(([key, member]) => {
      if (key === 'cte_map') return [key, renamed(member as SqlNode, inner, depth)];
      if (key === 'using_columns') return [key, (member as readonly string[]).map(names.columnOf)];
      if (key === 'cte_name' && typeof member === 'string') return [key, inner.get(member.toLowerCase()) ?? scope.get(member.toLowerCase()) ?? member];
      return [key, visit(member, inner, depth + 1)];
    });
    return Object.fromEntries(members);
  };

  /** The scope within a query: its common table expressions get names that nothing else has. */
  const withExpressions = (node: SqlNode, scope: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
    const { map = [] } = (node['cte_map'] ?? {}) as { readonly map?: readonly { readonly key: string }[] };
    if (map.length === 0) return scope;
    const inner = new Map(scope);
    for (const { key } of map) {
      expressions += 1;
      inner.set(key.toLowerCase(), `expression ${expressions}`);
    }
    return inner;
  };

  const renamed = (cteMap: SqlNode, scope: ReadonlyMap<string, string>, depth: number): SqlNode => {
    const map = cteMap['map'] as readonly { readonly key: string; readonly value: unknown }[];
    return { ...cteMap, map: map.map(({ key, value }) => ({ key: scope.get(key.toLowerCase())!, value: visit(value, scope, depth + 1) })) };
  };

  const visitTable = (node: SqlNode, scope: ReadonlyMap<string, string>, depth: number): SqlNode => {
    const { schema_name: schema, catalog_name: catalog, table_name: name, alias, at_clause: at } = node;
    if (schema !== '' || catalog !== '') throw new QueryError('query_invalid', `There are no schemas: a table is named by its ID or its name alone (${String(schema || catalog)}).`);
    if (at !== null && at !== undefined) throw refused('AT');
    const replaced = scope.get(String(name).toLowerCase()) ?? names.viewOf(String(name));
    return visitMembers(node, scope, depth, { table_name: replaced, alias: alias === '' ? name : alias });
  };

  const visitTableFunction = (node: SqlNode, scope: ReadonlyMap<string, string>, depth: number): SqlNode => {
    return visitMembers(node, scope, depth, { function: visitExpression(node['function'] as SqlNode, scope, depth, allowedTableFunctions) });
  };

  const visitExpression = (node: SqlNode, scope: ReadonlyMap<string, string>, depth: number, allowed = allowedFunctions): SqlNode => {
    const { class: kind, function_name: name, schema, catalog, column_names: columns } = node;
    if (kind === 'FUNCTION' || kind === 'WINDOW') {
      const word = String(name).toLowerCase();
      if (/^[a-z_]/.test(word) && !allowed.has(word)) throw refused(`The function ${word}`);
      if ((schema ?? '') !== '' || (catalog ?? '') !== '') throw new QueryError('query_invalid', `There are no schemas (${String(schema || catalog)}).`);
    }
    const replaced = columns === undefined ? {} : { column_names: (columns as readonly string[]).map((part, at, all) => (at === all.length - 1 ? names.columnOf(part) : part)) };
    return visitMembers(node, scope, depth, replaced);
  };

  const visitMembers = (node: SqlNode, scope: ReadonlyMap<string, string>, depth: number, replaced: SqlNode): SqlNode => {
    const others = Object.entries(node).filter(([key]) => !(key in replaced));
    return { ...Object.fromEntries(others.map(([key, member]) => [key, visit(member, scope, depth + 1)])), ...replaced };
  };

  return visit(statement, new Map(), 0) as SqlNode;
}
