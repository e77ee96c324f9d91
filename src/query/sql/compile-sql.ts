/**
 * Compiles a SELECT of a team, as the tree that DuckDB parses it to, into the text that DuckDB runs. The text is written anew, one kind of node at a
 * time: a kind, a word or a member that is not known is refused. What comes from the query are values, in quotes (literals.ts), and names, encoded
 * (names.ts); all else is written here. So whatever a query says, the text reads nothing but the tables that it is given.
 */
import { QueryError } from '../language/query-error.ts';
import { functions, lambdaFunctions, operators, tableFunctions } from './functions.ts';
import { constantText, parameterText } from './literals.ts';
import { encodeName } from './names.ts';
import { isSet, known, list, nameOf, node, nodes, refused, take, text, type SqlNode } from './node.ts';
import { typeText } from './types.ts';

export type SqlParameter = string | number | boolean | null;

/** What the names in a query mean. */
export interface SqlNames {
  /** The rows of a table, as a query of the engine in parentheses. Throws QueryError if there is no such table. */
  readonly table: (name: string) => string;
  /** The values of parameters by name; those without names are `1`, `2` and so on. */
  readonly parameters: ReadonlyMap<string, SqlParameter>;
}

/** The common table expressions that a query sees: their names in the text, which nothing else has. */
type Scope = ReadonlyMap<string, string>;

/** How many tables a query may name, how deep it may be nested, how many grouping sets it may have, and how long its text for the engine may be. */
const tablesMax = 20;
const depthMax = 100;
/** The engine takes twice as long, or longer, for each of these within another, and cannot be interrupted while it plans. */
const costlyDepthMax = 6;
const groupingSetsMax = 256;
const textMax = 4 * 1024 * 1024;

/** The text that runs for what `json_serialize_sql` gave. Throws QueryError. */
export function compileSql(tree: SqlNode, names: SqlNames): string {
  if (tree['error'] === true) {
    const message = text(tree['error_message']);
    throw new QueryError('query_invalid', message.startsWith('Only SELECT') ? 'Only a SELECT can be asked.' : message);
  }
  const statements = nodes(take(tree, 'statements').statements);
  if (statements.length !== 1) throw new QueryError('query_invalid', 'There must be one statement.');
  const compiler = new Compiler(names);
  const compiled = compiler.query(node(take(statements[0]!, 'node').node), new Map());
  compiler.end(compiled);
  return compiled;
}

class Compiler {
  readonly #names: SqlNames;
  readonly #used = new Set<string>();
  #depth = 0;
  #costlyDepth = 0;
  #tables = 0;
  #expressions = 0;
  #written = 0;

  constructor(names: SqlNames) {
    this.#names = names;
  }

  /** Throws QueryError for what shows only at the end. */
  end(compiled: string): void {
    this.#count(compiled.length);
    const unused = [...this.#names.parameters.keys()].find((name) => !this.#used.has(name));
    if (unused !== undefined) throw new QueryError('query_invalid', `The query has no parameter $${unused}.`);
  }

  /** A query with its common table expressions: a SELECT, or several that are put together. */
  query(given: SqlNode, outer: Scope): string {
    return this.#deeper(() => {
      const { type, cte_map: expressions, modifiers, ...rest } = given;
      const { scope, text: before } = this.#commonTableExpressions(node(expressions), outer);
      const after = nodes(modifiers).filter(({ type: kind }) => kind !== 'DISTINCT_MODIFIER').map((modifier) => this.#modifier(modifier, scope));
      if (type === 'SELECT_NODE') return [before, this.#select({ type, ...rest }, nodes(modifiers), scope), ...after].join('');
      if (after.length !== list(modifiers).length) throw refused('A DISTINCT of this kind');
      if (type === 'SET_OPERATION_NODE') return [before, this.#setOperation({ type, ...rest }, scope), ...after].join('');
      throw refused(`A query with ${nameOf(given)}`);
    });
  }

  #commonTableExpressions(map: SqlNode, outer: Scope): { readonly scope: Scope; readonly text: string } {
    const entries = nodes(take(map, 'map').map);
    if (entries.length === 0) return { scope: outer, text: '' };
    const scope = new Map(outer);
    let isRecursive = false;
    const texts = entries.map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      const { query, aliases } = take(node(value), 'query', 'aliases', 'materialized');
      const name = `w${(this.#expressions += 1)}`;
      const inner = node(take(node(query), 'node').node);
      const isRecursion = inner['type'] === 'RECURSIVE_CTE_NODE';
      isRecursive ||= isRecursion;
      const body = isRecursion ? this.#recursion(inner, scope, text(key), name) : this.query(inner, scope);
      // Those after it see it, and itself only its recursion.
      scope.set(text(key), name);
      return `${name}${columnList(aliases)} AS (${body})`;
    });
    return { scope, text: `WITH ${isRecursive ? 'RECURSIVE ' : ''}${texts.join(', ')} ` };
  }

  #recursion(given: SqlNode, outer: Scope, key: string, name: string): string {
    const { cte_map: expressions, left, right, union_all: all } = take(given, 'modifiers', 'cte_map', 'cte_name', 'left', 'right', 'union_all', 'aliases');
    if (isSet(given['modifiers'])) throw refused('A recursion with ORDER BY or LIMIT');
    const { scope, text: before } = this.#commonTableExpressions(node(expressions), outer);
    if (before !== '') throw refused('A recursion with a WITH of its own');
    return `(${this.query(node(left), scope)}) UNION ${all === true ? 'ALL ' : ''}(${this.query(node(right), new Map(scope).set(key, name))})`;
  }

  #setOperation(given: SqlNode, scope: Scope): string {
    const { setop_type: kind, setop_all: all, left, right } = take(given, 'setop_type', 'setop_all', 'left', 'right');
    const [word, suffix] = known(setOperations, kind, 'The operation');
    return `(${this.query(node(left), scope)}) ${word}${all === true ? ' ALL' : ''}${suffix} (${this.query(node(right), scope)})`;
  }

  #select(given: SqlNode, modifiers: readonly SqlNode[], scope: Scope): string {
    const {
      select_list: items, from_table: from, where_clause: where, group_expressions: groups, group_sets: sets, aggregate_handling: handling, having, qualify,
    } = take(given, 'select_list', 'from_table', 'where_clause', 'group_expressions', 'group_sets', 'aggregate_handling', 'having', 'qualify');
    const distinct = modifiers.filter(({ type }) => type === 'DISTINCT_MODIFIER').map((modifier) => {
      const targets = nodes(take(modifier, 'distinct_on_targets').distinct_on_targets);
      return targets.length === 0 ? 'DISTINCT ' : `DISTINCT ON (${this.#expressionList(targets, scope)}) `;
    });
    return [
      `SELECT ${distinct.join('')}${nodes(items).map((item) => this.#item(item, scope)).join(', ')}`,
      node(from)['type'] === 'EMPTY' ? '' : ` FROM ${this.#from(node(from), scope)}`,
      this.#clause(' WHERE', where, scope),
      known(groupings, handling, 'Grouping') ? ' GROUP BY ALL' : this.#groupBy(nodes(groups), list(sets), scope),
      this.#clause(' HAVING', having, scope),
      this.#clause(' QUALIFY', qualify, scope),
    ].join('');
  }

  #groupBy(groups: readonly SqlNode[], sets: readonly unknown[], scope: Scope): string {
    if (sets.length === 0) return '';
    if (sets.length > groupingSetsMax) throw new QueryError('limit_exceeded', `The query has more than ${groupingSetsMax} grouping sets.`);
    const texts = groups.map((group) => this.#expression(group, scope));
    const [only, ...others] = sets.map((set) => {
      const members = list(set).map((index) => known(new Map(texts.map((member, at) => [String(at), member])), index, 'A group'));
      this.#count(members.reduce((sum, { length }) => sum + length, 0));
      return members;
    });
    if (others.length === 0) return only!.length === 0 ? ' GROUP BY ()' : ` GROUP BY ${only!.join(', ')}`;
    return ` GROUP BY GROUPING SETS (${[only!, ...others].map((members) => `(${members.join(', ')})`).join(', ')})`;
  }

  /** ORDER BY or LIMIT. */
  #modifier(given: SqlNode, scope: Scope): string {
    if (given['type'] === 'ORDER_MODIFIER') return this.#orderBy(take(given, 'orders').orders, scope);
    if (given['type'] !== 'LIMIT_MODIFIER') throw refused(nameOf(given));
    const { limit, offset } = take(given, 'limit', 'offset');
    return `${this.#clause(' LIMIT', limit, scope)}${this.#clause(' OFFSET', offset, scope)}`;
  }

  #orderBy(orders: unknown, scope: Scope): string {
    const keys = nodes(orders).map((order) => {
      const { type, null_order: nulls, expression } = take(order, 'type', 'null_order', 'expression');
      const isAll = node(expression)['class'] === 'STAR' && take(node(expression), 'columns').columns === true;
      return `${isAll ? 'ALL' : this.#expression(node(expression), scope)}${known(directions, type, 'The order')}${known(nullOrders, nulls, 'The order')}`;
    });
    return keys.length === 0 ? '' : ` ORDER BY ${keys.join(', ')}`;
  }

  #clause(word: string, condition: unknown, scope: Scope): string {
    return isSet(condition) ? `${word} ${this.#expression(node(condition), scope)}` : '';
  }

  /** What a query reads. */
  #from(given: SqlNode, scope: Scope): string {
    return this.#deeper(() => {
      switch (given['type']) {
        case 'BASE_TABLE': return this.#table(given, scope);
        case 'SUBQUERY': {
          const { alias, subquery, column_name_alias: columns } = take(given, 'alias', 'subquery', 'column_name_alias');
          return `(${this.#subquery(subquery, scope)})${aliasText(alias)}${columnList(columns)}`;
        }
        case 'EXPRESSION_LIST': {
          const { alias, values } = take(given, 'alias', 'values');
          return `(VALUES ${list(values).map((row) => `(${this.#expressionList(nodes(row), scope)})`).join(', ')})${aliasText(alias)}`;
        }
        case 'TABLE_FUNCTION': {
          const { alias, function: call, column_name_alias: columns, with_ordinality: ordinality } = take(given, 'alias', 'function', 'column_name_alias', 'with_ordinality');
          return `${this.#call(node(call), scope, tableFunctions)}${known(ordinalities, ordinality, 'The table function')}${aliasText(alias)}${columnList(columns)}`;
        }
        case 'JOIN': return this.#join(given, scope);
        default: throw refused(given['type'] === 'SHOW_REF' ? 'DESCRIBE, SHOW or SUMMARIZE' : nameOf(given));
      }
    });
  }

  #table(given: SqlNode, scope: Scope): string {
    if (isSet(given['schema_name']) || isSet(given['catalog_name'])) throw new QueryError('query_invalid', 'There are no schemas: a table is named by its ID, or its name, alone.');
    const { table_name: name, alias, column_name_alias: columns } = take(given, 'table_name', 'alias', 'column_name_alias');
    this.#tables += 1;
    if (this.#tables > tablesMax) throw new QueryError('limit_exceeded', `The query names more than ${tablesMax} tables.`);
    const source = scope.get(text(name)) ?? this.#names.table(text(name));
    this.#count(source.length);
    return `${source}${aliasText(isSet(alias) ? alias : name)}${columnList(columns)}`;
  }

  #join(given: SqlNode, scope: Scope): string {
    const { left, right, condition, join_type: type, ref_type: kind, using_columns: columns } = take(given, 'left', 'right', 'condition', 'join_type', 'ref_type', 'using_columns');
    const [before, joined] = [this.#from(node(left), scope), this.#from(node(right), scope)];
    const word = `${known(joinKinds, kind, 'A join that is')}${kind === 'REGULAR' || kind === 'ASOF' ? known(joinTypes, type, 'A join that is') : ''}`;
    const using = isSet(columns) ? ` USING${columnList(columns)}` : '';
    return `(${before} ${word}JOIN ${joined}${this.#clause(' ON', condition, scope)}${using})`;
  }

  #subquery(given: unknown, scope: Scope): string {
    return this.query(node(take(node(given), 'node').node), scope);
  }

  /** A column of the result. One without a name has that of its function, as in Postgres. */
  #item(given: SqlNode, scope: Scope): string {
    if (given['class'] === 'STAR') return this.#star(given, scope);
    const { alias, unnamed } = withoutAlias(given);
    const name = alias === '' ? labelOf(unnamed) : alias;
    return `${this.#expression(unnamed, scope)}${aliasText(name)}`;
  }

  #star(given: SqlNode, scope: Scope): string {
    const { relation_name: table, exclude_list: excluded, qualified_exclude_list: alsoExcluded, replace_list: replaced, rename_list: renamed } =
      take(given, 'relation_name', 'exclude_list', 'qualified_exclude_list', 'replace_list', 'rename_list');
    const excludes = [...list(excluded).map((name) => quoted(name)), ...nodes(alsoExcluded).map(qualified)];
    const replaces = nodes(replaced).map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      return `${this.#expression(withoutAlias(node(value)).unnamed, scope)}${aliasText(key)}`;
    });
    const renames = nodes(renamed).map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      return `${qualified(node(key))}${aliasText(value)}`;
    });
    const parts = [['EXCLUDE', excludes], ['REPLACE', replaces], ['RENAME', renames]] as const;
    return `${isSet(table) ? `${quoted(table)}.` : ''}*${parts.map(([word, items]) => (items.length === 0 ? '' : ` ${word} (${items.join(', ')})`)).join('')}`;
  }

  #expressionList(given: readonly SqlNode[], scope: Scope): string {
    return given.map((item) => this.#expression(item, scope)).join(', ');
  }

  #expression(given: SqlNode, scope: Scope): string {
    return this.#deeper(() => {
      const of = (value: unknown): string => this.#expression(node(value), scope);
      switch (given['class']) {
        case 'COLUMN_REF': return columnText(list(take(given, 'column_names').column_names));
        case 'POSITIONAL_REFERENCE': return `#${positionOf(take(given, 'index').index)}`;
        case 'CONSTANT': return constantText(node(take(given, 'value').value));
        case 'PARAMETER': return this.#parameter(text(take(given, 'identifier').identifier));
        case 'COMPARISON': {
          const { left, right } = take(given, 'left', 'right');
          return `(${of(left)} ${known(comparisons, given['type'], 'The comparison')} ${of(right)})`;
        }
        case 'BETWEEN': {
          const { input, lower, upper } = take(given, 'input', 'lower', 'upper');
          return this.#costly(() => `(${of(input)} BETWEEN ${of(lower)} AND ${of(upper)})`);
        }
        case 'CONJUNCTION': {
          const word = known(conjunctions, given['type'], 'The condition');
          return `(${nodes(take(given, 'children').children).map((child) => of(child)).join(` ${word} `)})`;
        }
        case 'CASE': {
          const { case_checks: checks, else_expr: otherwise } = take(given, 'case_checks', 'else_expr');
          const cases = nodes(checks).map((check) => {
            const { when_expr: when, then_expr: then } = take(check, 'when_expr', 'then_expr');
            return ` WHEN ${of(when)} THEN ${of(then)}`;
          });
          return `CASE${cases.join('')} ELSE ${of(otherwise)} END`;
        }
        case 'CAST': {
          const { child, cast_type: type, try_cast: isTried } = take(given, 'child', 'cast_type', 'try_cast');
          return `${isTried === true ? 'TRY_CAST' : 'CAST'}(${of(child)} AS ${typeText(node(type))})`;
        }
        case 'COLLATE': {
          const { child, collation } = take(given, 'child', 'collation');
          return `(${of(child)} COLLATE ${text(collation).split('.').map((name) => known(collations, name.toLowerCase(), 'The collation')).join('.')})`;
        }
        case 'FUNCTION': return this.#call(given, scope, functions);
        case 'WINDOW': return this.#window(given, scope);
        case 'OPERATOR': return this.#operator(given, scope);
        case 'SUBQUERY': return this.#costly(() => this.#subqueryExpression(given, scope));
        // Where no lambda can be, the arrow is that of JSON.
        case 'LAMBDA': {
          const { lhs, expr } = take(given, 'lhs', 'expr');
          return `json_extract(${of(lhs)}, ${of(expr)})`;
        }
        default: throw refused(given['class'] === 'STAR' ? '* within an expression, or COLUMNS' : nameOf(given));
      }
    });
  }

  #parameter(name: string): string {
    const value = this.#names.parameters.get(name);
    if (value === undefined) throw new QueryError('query_invalid', `There is no value for the parameter $${name}.`);
    this.#used.add(name);
    const written = parameterText(value);
    this.#count(written.length);
    return written;
  }

  /** A call of a function, which may be an aggregate, or be written as an operator. */
  #call(given: SqlNode, scope: Scope, allowed: ReadonlySet<string>): string {
    const { children, filter, order_bys: orders, distinct } = take(given, 'function_name', 'schema', 'children', 'filter', 'order_bys', 'distinct', 'is_operator');
    const name = this.#functionOf(given, allowed);
    const within = `${distinct === true ? 'DISTINCT ' : ''}${this.#arguments(name, nodes(children), scope)}${this.#orderBy(take(node(orders), 'orders').orders, scope)}`;
    return `"${name}"(${within})${isSet(filter) ? ` FILTER (WHERE ${this.#expression(node(filter), scope)})` : ''}`;
  }

  #functionOf(given: SqlNode, allowed: ReadonlySet<string>): string {
    const name = text(given['function_name']).toLowerCase();
    // The parser writes `main` for what has a syntax of its own, such as extract(year FROM born).
    const isKnown = (given['schema'] === '' || given['schema'] === 'main') && (allowed.has(name) || (allowed === functions && operators.has(name)));
    if (!isKnown) throw refused(`The function ${String(given['function_name'])}`);
    return name;
  }

  #arguments(name: string, children: readonly SqlNode[], scope: Scope): string {
    return children.map((child) => {
      if (child['class'] === 'LAMBDA' && lambdaFunctions.has(name)) return this.#lambda(child, scope);
      const { alias, unnamed } = withoutAlias(child);
      return `${alias === '' ? '' : `${quoted(alias)} := `}${this.#expression(unnamed, scope)}`;
    }).join(', ');
  }

  #lambda(given: SqlNode, scope: Scope): string {
    const { lhs, expr } = take(given, 'lhs', 'expr');
    const left = node(lhs);
    // Several parameters come as a row.
    const parameters = left['class'] === 'FUNCTION' && left['function_name'] === 'row' ? nodes(left['children']) : [left];
    const names = parameters.map((parameter) => {
      const [name, ...others] = list(parameter['class'] === 'COLUMN_REF' ? take(parameter, 'column_names').column_names : []);
      if (name === undefined || others.length > 0) throw refused('A lambda with such parameters');
      return quoted(name);
    });
    return `(lambda ${names.join(', ')}: ${this.#costly(() => this.#expression(node(expr), scope))})`;
  }

  #window(given: SqlNode, scope: Scope): string {
    const {
      children, partitions, orders, start, end, start_expr: from, end_expr: to, offset_expr: offset, default_expr: otherwise, ignore_nulls: ignoresNulls, filter_expr: filter,
      exclude_clause: excluded, distinct, arg_orders: argumentOrders,
    } = take(
      given, 'function_name', 'schema', 'children', 'partitions', 'orders', 'start', 'end', 'start_expr', 'end_expr', 'offset_expr', 'default_expr', 'ignore_nulls', 'filter_expr',
      'exclude_clause', 'distinct', 'arg_orders',
    );
    const name = this.#functionOf(given, functions);
    const all = [...nodes(children), ...[offset, otherwise].filter(isSet).map(node)];
    const within = [
      distinct === true ? 'DISTINCT ' : '', this.#arguments(name, all, scope), this.#orderBy(argumentOrders, scope), ignoresNulls === true ? ' IGNORE NULLS' : '',
    ].join('');
    const frame = this.#frame([start, from], [end, to], scope);
    const partition = isSet(partitions) ? `PARTITION BY ${this.#expressionList(nodes(partitions), scope)}` : '';
    const filtered = isSet(filter) ? ` FILTER (WHERE ${this.#expression(node(filter), scope)})` : '';
    return `"${name}"(${within})${filtered} OVER (${partition}${this.#orderBy(orders, scope)}${frame}${known(exclusions, excluded, 'The window')})`;
  }

  #frame(start: readonly [unknown, unknown], end: readonly [unknown, unknown], scope: Scope): string {
    const [from, to] = [start, end].map(([kind, distance]) => {
      const bound = known(bounds, kind, 'The window');
      if (bound.isExpression !== isSet(distance)) throw refused('A window that is written so');
      return { unit: bound.unit, text: `${bound.isExpression ? `${this.#expression(node(distance), scope)} ` : ''}${bound.text}` };
    }) as [{ unit: string | null; text: string }, { unit: string | null; text: string }];
    return ` ${from.unit ?? to.unit ?? 'ROWS'} BETWEEN ${from.text} AND ${to.text}`;
  }

  #operator(given: SqlNode, scope: Scope): string {
    const operands = nodes(take(given, 'children').children);
    const [first, ...rest] = operands.map((operand) => this.#operand(operand, scope));
    if (first === undefined) return given['type'] === 'ARRAY_CONSTRUCTOR' ? '[]' : this.#refuseOperator(given);
    switch (given['type']) {
      case 'OPERATOR_NOT': return `(NOT ${first})`;
      case 'OPERATOR_IS_NULL': return `(${first} IS NULL)`;
      case 'OPERATOR_IS_NOT_NULL': return `(${first} IS NOT NULL)`;
      case 'OPERATOR_COALESCE': return `coalesce(${[first, ...rest].join(', ')})`;
      case 'OPERATOR_TRY': return `TRY(${first})`;
      case 'GROUPING_FUNCTION': return `GROUPING(${[first, ...rest].join(', ')})`;
      case 'ARRAY_CONSTRUCTOR': return `[${[first, ...rest].join(', ')}]`;
      case 'COMPARE_IN': return `(${first} IN (${rest.join(', ')}))`;
      case 'COMPARE_NOT_IN': return `(${first} NOT IN (${rest.join(', ')}))`;
      case 'ARRAY_EXTRACT': return `(${first})[${rest.join()}]`;
      // A bound that is left out is an empty list.
      case 'ARRAY_SLICE': return `(${first})[${rest.map((bound, at) => bound ?? (at === 1 && rest.length === 3 ? '-' : '')).join(':')}]`;
      case 'STRUCT_EXTRACT': {
        const { type, value } = take(node(take(operands[1]!, 'value').value), 'type', 'value', 'is_null');
        if (node(type)['id'] !== 'VARCHAR') throw refused('A member that is named so');
        return `struct_extract(${first}, '${encodeName(text(value))}')`;
      }
      default: return this.#refuseOperator(given);
    }
  }

  #operand(given: SqlNode, scope: Scope): string | null {
    const isLeftOut = given['class'] === 'CONSTANT' && node(node(given['value'])['type'])['id'] === 'LIST';
    return isLeftOut ? null : this.#expression(given, scope);
  }

  #refuseOperator(given: SqlNode): never {
    throw refused(`The operator ${nameOf(given)}`);
  }

  #subqueryExpression(given: SqlNode, scope: Scope): string {
    const { subquery_type: kind, subquery, child, comparison_type: comparison } = take(given, 'subquery_type', 'subquery', 'child', 'comparison_type');
    const inner = `(${this.#subquery(subquery, scope)})`;
    if (kind === 'SCALAR') return inner;
    if (kind === 'EXISTS') return `EXISTS ${inner}`;
    if (kind === 'NOT_EXISTS') return `(NOT EXISTS ${inner})`;
    if (kind !== 'ANY') throw refused('A subquery of this kind');
    return `(${this.#expression(node(child), scope)} ${known(comparisons, comparison, 'The comparison')} ANY ${inner})`;
  }

  #deeper<T>(work: () => T): T {
    this.#depth += 1;
    if (this.#depth > depthMax) throw new QueryError('query_invalid', 'The query is nested too deep.');
    const done = work();
    this.#depth -= 1;
    return done;
  }

  #costly<T>(work: () => T): T {
    this.#costlyDepth += 1;
    if (this.#costlyDepth > costlyDepthMax) throw new QueryError('query_invalid', `Subqueries, lambdas and BETWEEN are nested more than ${costlyDepthMax} deep.`);
    const done = work();
    this.#costlyDepth -= 1;
    return done;
  }

  /** Counts what is written more than once. */
  #count(characters: number): void {
    this.#written += characters;
    if (this.#written > textMax) throw new QueryError('limit_exceeded', 'The query is too large, with its parameters and the columns of its tables.');
  }
}

/** An expression, and its name. That is an alias, or the name of an argument. */
function withoutAlias(given: SqlNode): { readonly alias: string; readonly unnamed: SqlNode } {
  return { alias: text(given['alias'] ?? ''), unnamed: { ...given, alias: '' } };
}

/** The name of a column of the result that has none; empty for a column that keeps its own. */
function labelOf(given: SqlNode): string {
  switch (given['class']) {
    case 'COLUMN_REF': case 'POSITIONAL_REFERENCE': return '';
    case 'FUNCTION': case 'WINDOW': {
      const name = text(given['function_name']).toLowerCase();
      return name === 'count_star' ? 'count' : functions.has(name) ? name : 'column';
    }
    case 'CAST': return labelOf(node(given['child'])) || 'column';
    case 'CASE': return 'case';
    default: return 'column';
  }
}

/** What standard SQL writes without parentheses. */
const moments: ReadonlyMap<string, string> = new Map([['CURRENT_DATE', 'current_date'], ['CURRENT_TIMESTAMP', 'current_timestamp'], ['LOCALTIMESTAMP', 'localtimestamp']]);

function columnText(names: readonly unknown[]): string {
  const moment = names.length === 1 ? moments.get(text(names[0]).toUpperCase()) : undefined;
  return moment ?? names.map(quoted).join('.');
}

function quoted(name: unknown): string {
  return `"${encodeName(text(name))}"`;
}

function qualified(given: SqlNode): string {
  const { table, column } = take(given, 'table', 'column');
  return `${isSet(table) ? `${quoted(table)}.` : ''}${quoted(column)}`;
}

function aliasText(name: unknown): string {
  return isSet(name) ? ` AS ${quoted(name)}` : '';
}

function columnList(names: unknown): string {
  return isSet(names) ? ` (${list(names).map(quoted).join(', ')})` : '';
}

function positionOf(index: unknown): string {
  if (!/^\d{1,4}$/.test(text(index))) throw refused('A place that is written so');
  return text(index);
}

const setOperations: ReadonlyMap<string, readonly [word: string, suffix: string]> = new Map([
  ['UNION', ['UNION', '']], ['UNION_BY_NAME', ['UNION', ' BY NAME']], ['EXCEPT', ['EXCEPT', '']], ['INTERSECT', ['INTERSECT', '']],
]);

/** Whether they are GROUP BY ALL. */
const groupings: ReadonlyMap<string, boolean> = new Map([['STANDARD_HANDLING', false], ['FORCE_AGGREGATES', true]]);

const directions: ReadonlyMap<string, string> = new Map([['ORDER_DEFAULT', ''], ['ASCENDING', ' ASC'], ['DESCENDING', ' DESC']]);
const nullOrders: ReadonlyMap<string, string> = new Map([['ORDER_DEFAULT', ''], ['NULLS FIRST', ' NULLS FIRST'], ['NULLS LAST', ' NULLS LAST']]);
const ordinalities: ReadonlyMap<string, string> = new Map([['WITHOUT_ORDINALITY', ''], ['WITH_ORDINALITY', ' WITH ORDINALITY']]);

/** A NATURAL join is none of them: it would compare `$rowID` and `$version`. */
const joinKinds: ReadonlyMap<string, string> = new Map([['REGULAR', ''], ['CROSS', 'CROSS '], ['POSITIONAL', 'POSITIONAL '], ['ASOF', 'ASOF ']]);
const joinTypes: ReadonlyMap<string, string> = new Map([['INNER', ''], ['LEFT', 'LEFT '], ['RIGHT', 'RIGHT '], ['FULL', 'FULL '], ['SEMI', 'SEMI '], ['ANTI', 'ANTI ']]);

const comparisons: ReadonlyMap<string, string> = new Map([
  ['COMPARE_EQUAL', '='], ['COMPARE_NOTEQUAL', '<>'], ['COMPARE_LESSTHAN', '<'], ['COMPARE_GREATERTHAN', '>'], ['COMPARE_LESSTHANOREQUALTO', '<='],
  ['COMPARE_GREATERTHANOREQUALTO', '>='], ['COMPARE_DISTINCT_FROM', 'IS DISTINCT FROM'], ['COMPARE_NOT_DISTINCT_FROM', 'IS NOT DISTINCT FROM'],
]);
const conjunctions: ReadonlyMap<string, string> = new Map([['CONJUNCTION_AND', 'AND'], ['CONJUNCTION_OR', 'OR']]);
const collations: ReadonlyMap<string, string> = new Map([['nocase', 'nocase'], ['noaccent', 'noaccent'], ['nfc', 'nfc'], ['binary', 'binary']]);
const exclusions: ReadonlyMap<string, string> = new Map([['NO_OTHER', ''], ['CURRENT_ROW', ' EXCLUDE CURRENT ROW'], ['GROUP', ' EXCLUDE GROUP'], ['TIES', ' EXCLUDE TIES']]);

interface Bound {
  /** Null if it is the same in all of them. */
  readonly unit: 'ROWS' | 'RANGE' | 'GROUPS' | null;
  readonly text: string;
  readonly isExpression: boolean;
}

/** The bounds of the frame of a window. */
const bounds: ReadonlyMap<string, Bound> = new Map([
  ['UNBOUNDED_PRECEDING', { unit: null, text: 'UNBOUNDED PRECEDING', isExpression: false }],
  ['UNBOUNDED_FOLLOWING', { unit: null, text: 'UNBOUNDED FOLLOWING', isExpression: false }],
  ...(['ROWS', 'RANGE', 'GROUPS'] as const).flatMap((unit): [string, Bound][] => [
    [`CURRENT_ROW_${unit}`, { unit, text: 'CURRENT ROW', isExpression: false }],
    [`EXPR_PRECEDING_${unit}`, { unit, text: 'PRECEDING', isExpression: true }],
    [`EXPR_FOLLOWING_${unit}`, { unit, text: 'FOLLOWING', isExpression: true }],
  ]),
]);
