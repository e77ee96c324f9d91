/**
 * Compiles a SELECT of a team, from the syntax tree that DuckDB parses, to the text that DuckDB runs. The compiler
 * writes the text anew, with code for each kind of node, and refuses unknown kinds, words and members. Only quoted
 * values (literals.ts) and encoded names (names.ts) come from the query; the compiler writes everything else. So no
 * query can read anything except the tables in `names`.
 */
import { QueryError } from '../language/query-error.ts';
import { Budget } from './budget.ts';
import { namesOf } from './column-text.ts';
import { Expressions } from './expressions.ts';
import type { SqlParameter } from './literals.ts';
import { functions, tableFunctions } from './functions.ts';
import { quoteName } from './names.ts';
import { isSet, known, list, nodeName, node, nodes, refused, take, text, withoutAlias, type SqlNode } from './node.ts';
import { Columns, Scope } from './scope.ts';

/** A table that a query may read. */
export interface SqlTable {
  /** The rows of the table, as a query of the engine in parentheses. */
  readonly text: string;
  /** The names of its columns. */
  readonly columns: readonly string[];
}

/** Resolves the names in a query. */
interface SqlNames {
  /** Throws QueryError if there is no such table. */
  readonly table: (name: string) => SqlTable;
  /** The values of parameters by name. Parameters without names have the names `1`, `2` and so on. */
  readonly parameters: ReadonlyMap<string, SqlParameter>;
}

const groupingSetsMax = 256;

/** Compiles the tree of `json_serialize_sql` to the text to run. Throws QueryError. */
export function compileSql(tree: SqlNode, names: SqlNames): string {
  const statements = nodes(take(tree, 'statements').statements);
  if (statements.length !== 1) throw new QueryError('query_invalid', 'There must be one statement.');
  return new Compiler(names).compile(node(take(statements[0]!, 'node').node));
}

/** A compiled query, and the sizes of its columns. */
interface Query {
  readonly text: string;
  readonly columns: Columns;
}

class Compiler {
  readonly #names: SqlNames;
  readonly #budget = new Budget();
  readonly #expressions: Expressions;
  #commonTables = 0;

  constructor(names: SqlNames) {
    this.#names = names;
    this.#expressions = new Expressions({
      parameters: names.parameters,
      budget: this.#budget,
      subquery: (given, scope) => this.#subquery(given, scope).text,
    });
  }

  compile(given: SqlNode): string {
    const compiled = this.#query(given, new Scope()).text;
    this.#budget.addText(compiled.length);
    const { unusedParameter } = this.#expressions;
    if (unusedParameter !== undefined)
      throw new QueryError('query_invalid', `The query has no parameter $${unusedParameter}.`);
    return compiled;
  }

  /** Compiles a query with its common table expressions: a SELECT, or a set operation. */
  #query(given: SqlNode, outer: Scope): Query {
    return this.#budget.deeper(() => {
      const { type, cte_map: expressions, modifiers, ...rest } = given;
      const scope = new Scope(outer);
      const before = this.#with(node(expressions), scope);
      const { text: query, columns } = this.#body({ type, ...rest }, nodes(modifiers), scope);
      const after = nodes(modifiers)
        .filter(({ type: kind }) => kind !== 'DISTINCT_MODIFIER')
        .map((modifier) => this.#modifier(modifier, scope));
      return { text: [before, query, ...after].join(''), columns };
    });
  }

  #body(given: SqlNode, modifiers: readonly SqlNode[], scope: Scope): Query {
    if (given['type'] === 'SELECT_NODE') return this.#select(given, modifiers, scope);
    if (modifiers.some(({ type }) => type === 'DISTINCT_MODIFIER')) throw refused('A DISTINCT of this kind');
    if (given['type'] === 'SET_OPERATION_NODE') return this.#setOperation(given, scope);
    throw refused(`A query with ${nodeName(given)}`);
  }

  /** Compiles WITH, and adds its common table expressions to the scope. */
  #with(map: SqlNode, scope: Scope): string {
    const entries = nodes(take(map, 'map').map);
    if (entries.length === 0) return '';
    let isRecursive = false;
    const texts = entries.map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      const { query, aliases } = take(node(value), 'query', 'aliases', 'materialized');
      const name = `w${(this.#commonTables += 1)}`;
      const inner = node(take(node(query), 'node').node);
      const isRecursion = inner['type'] === 'RECURSIVE_CTE_NODE';
      isRecursive ||= isRecursion;
      const names = namesIn(aliases);
      const { text: body, columns } = isRecursion
        ? this.#recursion(inner, scope, text(key), name, names)
        : this.#query(inner, scope);
      // Later expressions see this one. Its own query sees it only if it is recursive.
      scope.addTable(text(key), { name, columns: columns.renamed(names) });
      return `${name}${columnList(names)} AS (${body})`;
    });
    return `WITH ${isRecursive ? 'RECURSIVE ' : ''}${texts.join(', ')} `;
  }

  #recursion(given: SqlNode, outer: Scope, key: string, name: string, names: readonly string[]): Query {
    const {
      cte_map: expressions,
      left,
      right,
      union_all: all,
    } = take(given, 'modifiers', 'cte_map', 'cte_name', 'left', 'right', 'union_all', 'aliases');
    if (isSet(given['modifiers'])) throw refused('A recursion with ORDER BY or LIMIT');
    const scope = new Scope(outer);
    if (this.#with(node(expressions), scope) !== '') throw refused('A recursion with a WITH of its own');
    const first = this.#query(node(left), scope);
    scope.addTable(key, { name, columns: first.columns.renamed(names) });
    const next = this.#query(node(right), scope);
    return {
      text: `(${first.text}) UNION ${all === true ? 'ALL ' : ''}(${next.text})`,
      columns: first.columns.united(next.columns),
    };
  }

  #setOperation(given: SqlNode, scope: Scope): Query {
    const { setop_type: kind, setop_all: all, left, right } = take(given, 'setop_type', 'setop_all', 'left', 'right');
    const [word, suffix] = known(setOperations, kind, 'The operation');
    const [first, second] = [this.#query(node(left), scope), this.#query(node(right), scope)];
    const columns = first.columns.united(second.columns);
    scope.addRelation('', columns);
    return { text: `(${first.text}) ${word}${all === true ? ' ALL' : ''}${suffix} (${second.text})`, columns };
  }

  #select(given: SqlNode, modifiers: readonly SqlNode[], scope: Scope): Query {
    const {
      select_list: items,
      from_table: from,
      where_clause: where,
      group_expressions: groups,
      group_sets: sets,
      aggregate_handling: handling,
      having,
      qualify,
    } = take(
      given,
      'select_list',
      'from_table',
      'where_clause',
      'group_expressions',
      'group_sets',
      'aggregate_handling',
      'having',
      'qualify',
    );
    // Compile FROM first: everything after it uses its names, and each item the names of earlier items.
    const source = node(from)['type'] === 'EMPTY' ? '' : ` FROM ${this.#from(node(from), scope)}`;
    scope.windowInput = (read) => this.#windowInput(given, read, scope);
    const columns = new Columns();
    const selected = nodes(items)
      .map((item) => this.#item(item, scope, columns))
      .join(', ');
    const distinct = modifiers
      .filter(({ type }) => type === 'DISTINCT_MODIFIER')
      .map((modifier) => {
        const targets = nodes(take(modifier, 'distinct_on_targets').distinct_on_targets);
        return targets.length === 0 ? 'DISTINCT ' : `DISTINCT ON (${this.#expressions.textOfAll(targets, scope)}) `;
      });
    const compiled = [
      `SELECT ${distinct.join('')}${selected}${source}`,
      this.#expressions.clause(' WHERE', where, scope),
      known(groupings, handling, 'Grouping') ? ' GROUP BY ALL' : this.#groupBy(nodes(groups), list(sets), scope),
      this.#expressions.clause(' HAVING', having, scope),
      this.#expressions.clause(' QUALIFY', qualify, scope),
    ].join('');
    return { text: compiled, columns };
  }

  /** Writes the input of a SELECT a second time (`WindowInput`). The budget counts it again. */
  #windowInput(given: SqlNode, read: readonly SqlNode[], outer: Scope): string | null {
    const {
      select_list: items,
      from_table: from,
      where_clause: where,
      group_expressions: groups,
      group_sets: sets,
      aggregate_handling: handling,
      having,
    } = given;
    const aliases = new Set(
      nodes(items)
        .map((item) => text(item['alias'] ?? '').toLowerCase())
        .filter((alias) => alias !== ''),
    );
    const isByPlace = nodes(groups).some(({ class: kind }) => kind === 'CONSTANT' || kind === 'PARAMETER');
    if (
      handling !== 'STANDARD_HANDLING' ||
      isByPlace ||
      namesOneOf([...read, where, ...nodes(groups), having], aliases)
    )
      return null;
    return this.#budget.costly(() => {
      const scope = new Scope(outer);
      const source = node(from)['type'] === 'EMPTY' ? '' : ` FROM ${this.#from(node(from), scope)}`;
      const [columns, parts] = this.#budget.measure(() =>
        read.map((expression, at) => `${this.#expressions.textOf(expression, scope)} AS _p${at}`).join(', '),
      );
      this.#budget.addParts(parts);
      return [
        `SELECT ${columns}${source}`,
        this.#expressions.clause(' WHERE', where, scope),
        this.#groupBy(nodes(groups), list(sets), scope),
        this.#expressions.clause(' HAVING', having, scope),
      ].join('');
    });
  }

  #groupBy(groups: readonly SqlNode[], sets: readonly unknown[], scope: Scope): string {
    if (sets.length === 0) return '';
    if (sets.length > groupingSetsMax)
      throw new QueryError('limit_exceeded', `The query has more than ${groupingSetsMax} grouping sets.`);
    const texts = groups.map((group) => this.#expressions.textOf(group, scope));
    const [only, ...others] = sets.map((set) => {
      const members = list(set).map((index) =>
        known(new Map(texts.map((member, at) => [String(at), member])), index, 'A group'),
      );
      this.#budget.addText(members.reduce((sum, { length }) => sum + length, 0));
      return members;
    });
    if (others.length === 0) return only!.length === 0 ? ' GROUP BY ()' : ` GROUP BY ${only!.join(', ')}`;
    return ` GROUP BY GROUPING SETS (${[only!, ...others].map((members) => `(${members.join(', ')})`).join(', ')})`;
  }

  /** Compiles ORDER BY or LIMIT. */
  #modifier(given: SqlNode, scope: Scope): string {
    if (given['type'] === 'ORDER_MODIFIER') return this.#expressions.orderBy(take(given, 'orders').orders, scope);
    if (given['type'] !== 'LIMIT_MODIFIER') throw refused(nodeName(given));
    const { limit, offset } = take(given, 'limit', 'offset');
    return `${this.#expressions.clause(' LIMIT', limit, scope)}${this.#expressions.clause(' OFFSET', offset, scope)}`;
  }

  /** Compiles FROM, and adds its relations to the scope. */
  #from(given: SqlNode, scope: Scope): string {
    return this.#budget.deeper(() => {
      switch (given['type']) {
        case 'BASE_TABLE':
          return this.#table(given, scope);
        case 'SUBQUERY': {
          const { alias, subquery, column_name_alias: names } = take(given, 'alias', 'subquery', 'column_name_alias');
          const { text: query, columns } = this.#subquery(subquery, scope);
          return `(${query})${this.#relation(alias, names, columns, scope)}`;
        }
        case 'EXPRESSION_LIST': {
          const { alias, values } = take(given, 'alias', 'values');
          const [rows, parts] = this.#budget.measure(() =>
            list(values)
              .map((row) => `(${this.#expressions.textOfAll(nodes(row), scope)})`)
              .join(', '),
          );
          const cells = list(values).reduce<number>((sum, row) => sum + list(row).length, 0);
          return `(VALUES ${rows})${this.#relation(alias, [], new Columns().add('*', parts - cells + 1, list(list(values)[0]).length), scope)}`;
        }
        case 'TABLE_FUNCTION': {
          const {
            alias,
            function: call,
            column_name_alias: names,
            with_ordinality: ordinality,
          } = take(given, 'alias', 'function', 'column_name_alias', 'with_ordinality');
          const [called, parts] = this.#budget.measure(() => this.#expressions.call(node(call), scope, tableFunctions));
          return `${called}${known(ordinalities, ordinality, 'The table function')}${this.#relation(alias, names, new Columns().add('*', Math.max(1, parts)), scope)}`;
        }
        case 'JOIN':
          return this.#join(given, scope);
        default:
          throw refused(given['type'] === 'SHOW_REF' ? 'DESCRIBE, SHOW or SUMMARIZE' : nodeName(given));
      }
    });
  }

  /** Compiles the alias of a relation in FROM, and adds the relation to the scope. */
  #relation(alias: unknown, aliases: unknown, columns: Columns, scope: Scope): string {
    const names = namesIn(aliases);
    scope.addRelation(isSet(alias) ? text(alias) : '', columns.renamed(names));
    return `${aliasText(alias)}${columnList(names)}`;
  }

  #table(given: SqlNode, scope: Scope): string {
    if (isSet(given['schema_name']) || isSet(given['catalog_name']))
      throw new QueryError('query_invalid', 'There are no schemas: name a table only by its ID or name.');
    const {
      table_name: name,
      alias,
      column_name_alias: names,
    } = take(given, 'table_name', 'alias', 'column_name_alias');
    this.#budget.addTable();
    const shown = isSet(alias) ? alias : name;
    const common = scope.table(text(name));
    if (common !== undefined) return `${common.name}${this.#relation(shown, names, common.columns, scope)}`;
    const { text: source, columns } = this.#names.table(text(name));
    this.#budget.addText(source.length);
    const all = new Columns();
    for (const column of columns) all.add(column, 1);
    return `${source}${this.#relation(shown, names, all, scope)}`;
  }

  #join(given: SqlNode, scope: Scope): string {
    const {
      left,
      right,
      condition,
      join_type: type,
      ref_type: kind,
      using_columns: columns,
    } = take(given, 'left', 'right', 'condition', 'join_type', 'ref_type', 'using_columns');
    const [before, joined] = [this.#from(node(left), scope), this.#from(node(right), scope)];
    const word = `${known(joinKinds, kind, 'A join that is')}${kind === 'REGULAR' || kind === 'ASOF' ? known(joinTypes, type, 'A join that is') : ''}`;
    const using = isSet(columns) ? ` USING${columnList(namesIn(columns))}` : '';
    return `(${before} ${word}JOIN ${joined}${this.#expressions.clause(' ON', condition, scope)}${using})`;
  }

  #subquery(given: unknown, scope: Scope): Query {
    return this.#query(node(take(node(given), 'node').node), scope);
  }

  /**
   * Compiles an item of the SELECT list, which may give several columns. An item without a name gets the name of its
   * function, as in Postgres.
   */
  #item(given: SqlNode, scope: Scope, columns: Columns): string {
    if (given['class'] === 'STAR') return this.#star(given, scope, columns);
    const { alias, unnamed } = withoutAlias(given);
    const label = alias === '' ? labelOf(unnamed) : alias;
    const [written, parts] = this.#budget.measure(() => this.#expressions.textOf(unnamed, scope));
    const name = given['class'] === 'POSITIONAL_REFERENCE' ? '*' : label === '' ? namesOf(unnamed).at(-1)! : label;
    // A plain column costs the engine one part, whatever is behind it.
    if (label === '' && !columns.has(name)) this.#budget.addParts(1 - parts);
    if (label === 'unnest') columns.addMembers(parts);
    else columns.add(name, parts);
    if (alias !== '') scope.addName(alias, parts);
    return `${written}${aliasText(label)}`;
  }

  #star(given: SqlNode, scope: Scope, columns: Columns): string {
    const {
      relation_name: table,
      exclude_list: excluded,
      qualified_exclude_list: alsoExcluded,
      replace_list: replaced,
      rename_list: newNames,
    } = take(given, 'relation_name', 'exclude_list', 'qualified_exclude_list', 'replace_list', 'rename_list');
    const all = scope.columnsOf(isSet(table) ? text(table) : '');
    this.#budget.addParts(all.count);
    columns.addAll(all);
    const excludes = [...namesIn(excluded).map(quoteName), ...nodes(alsoExcluded).map(qualified)];
    const replaces = nodes(replaced).map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      const [written, parts] = this.#budget.measure(() =>
        this.#expressions.textOf(withoutAlias(node(value)).unnamed, scope),
      );
      columns.replace(text(key), parts);
      return `${written}${aliasText(key)}`;
    });
    const renames = nodes(newNames).map((entry) => {
      const { key, value } = take(entry, 'key', 'value');
      columns.add(text(value), scope.partsOf([text(node(key)['column'])]));
      return `${qualified(node(key))}${aliasText(value)}`;
    });
    const parts = [
      ['EXCLUDE', excludes],
      ['REPLACE', replaces],
      ['RENAME', renames],
    ] as const;
    return `${isSet(table) ? `${quoteName(text(table))}.` : ''}*${parts.map(([word, items]) => (items.length === 0 ? '' : ` ${word} (${items.join(', ')})`)).join('')}`;
  }
}

/** Whether any part of an expression is one of these names alone, or a column given by its position. */
function namesOneOf(given: unknown, aliases: ReadonlySet<string>): boolean {
  if (Array.isArray(given)) return given.some((one) => namesOneOf(one, aliases));
  if (typeof given !== 'object' || given === null) return false;
  const { class: kind, column_names: names } = given as SqlNode;
  if (kind === 'POSITIONAL_REFERENCE') return true;
  if (kind === 'COLUMN_REF' && Array.isArray(names) && aliases.has(String(names[0]).toLowerCase())) return true;
  return Object.values(given).some((one) => namesOneOf(one, aliases));
}

/** The name for a result column without an alias; empty if the column keeps its own name. */
function labelOf(given: SqlNode): string {
  switch (given['class']) {
    case 'COLUMN_REF':
    case 'POSITIONAL_REFERENCE':
      return '';
    case 'FUNCTION':
    case 'WINDOW': {
      const name = text(given['function_name']).toLowerCase();
      return name === 'count_star' ? 'count' : functions.has(name) ? name : 'column';
    }
    case 'CAST':
      return labelOf(node(given['child'])) || 'column';
    case 'CASE':
      return 'case';
    default:
      return 'column';
  }
}

function qualified(given: SqlNode): string {
  const { table, column } = take(given, 'table', 'column');
  return `${isSet(table) ? `${quoteName(text(table))}.` : ''}${quoteName(text(column))}`;
}

function aliasText(name: unknown): string {
  return isSet(name) ? ` AS ${quoteName(text(name))}` : '';
}

function namesIn(given: unknown): readonly string[] {
  return isSet(given) ? list(given).map(text) : [];
}

function columnList(names: readonly string[]): string {
  return names.length === 0 ? '' : ` (${names.map(quoteName).join(', ')})`;
}

const setOperations: ReadonlyMap<string, readonly [word: string, suffix: string]> = new Map([
  ['UNION', ['UNION', '']],
  ['UNION_BY_NAME', ['UNION', ' BY NAME']],
  ['EXCEPT', ['EXCEPT', '']],
  ['INTERSECT', ['INTERSECT', '']],
]);

/** Whether the handling of aggregates means GROUP BY ALL. */
const groupings: ReadonlyMap<string, boolean> = new Map([
  ['STANDARD_HANDLING', false],
  ['FORCE_AGGREGATES', true],
]);

const ordinalities: ReadonlyMap<string, string> = new Map([
  ['WITHOUT_ORDINALITY', ''],
  ['WITH_ORDINALITY', ' WITH ORDINALITY'],
]);

/** Without NATURAL, because it would compare `$rowID` and `$version`. */
const joinKinds: ReadonlyMap<string, string> = new Map([
  ['REGULAR', ''],
  ['CROSS', 'CROSS '],
  ['POSITIONAL', 'POSITIONAL '],
  ['ASOF', 'ASOF '],
]);
const joinTypes: ReadonlyMap<string, string> = new Map([
  ['INNER', ''],
  ['LEFT', 'LEFT '],
  ['RIGHT', 'RIGHT '],
  ['FULL', 'FULL '],
  ['SEMI', 'SEMI '],
  ['ANTI', 'ANTI '],
]);
