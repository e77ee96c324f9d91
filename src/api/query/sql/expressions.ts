/** Compiles the expressions of a SELECT: values, columns, calls of functions and subqueries. */
import { QueryError } from '../language/query-error.ts';
import { partsOfGuard, type Budget } from './budget.ts';
import { columnText, memberText, namesOf } from './column-text.ts';
import { functionBounds, zoneGuard } from './function-bounds.ts';
import { brokenWhenEmpty, copyingFunctions, functions, lambdaFunctions, sqlOperators } from './functions.ts';
import { guardedCall } from './guarded-call.ts';
import { growthOf, lambdaGuard, parametersOf } from './lambda-bounds.ts';
import { likeText } from './like.ts';
import {
  constantText,
  isConstant,
  literalOf,
  parameterText,
  textOfConstant,
  type Literal,
  type SqlParameter,
} from './literals.ts';
import { noFunction } from './mistakes.ts';
import { encodeName, quoteName } from './names.ts';
import { isSet, known, nodeName, node, nodes, refused, take, text, withoutAlias, type SqlNode } from './node.ts';
import { Scope } from './scope.ts';
import { typeText } from './types.ts';
import { Windows } from './windows.ts';
import { collations, comparisons, conjunctions, directions, nullOrders } from './words.ts';

/** Functions with a lambda whose result is a part of their list. */
const filters: ReadonlySet<string> = new Set(['array_filter', 'list_filter']);

interface ExpressionsOptions {
  /** The values of parameters by name. Parameters without names have the names `1`, `2` and so on. */
  readonly parameters: ReadonlyMap<string, SqlParameter>;
  readonly budget: Budget;
  /** Compiles a query within an expression. */
  readonly subquery: (given: unknown, scope: Scope) => string;
}

export class Expressions {
  readonly #options: ExpressionsOptions;
  readonly #budget: Budget;
  readonly #windows: Windows;
  readonly #used = new Set<string>();
  /** How many lambdas enclose the expression that is being compiled. */
  #lambdas = 0;

  constructor(options: ExpressionsOptions) {
    this.#options = options;
    this.#budget = options.budget;
    this.#windows = new Windows(this, options.budget);
  }

  /** The name of a parameter that has a value but that no expression uses. */
  get unusedParameter(): string | undefined {
    return [...this.#options.parameters.keys()].find((name) => !this.#used.has(name));
  }

  /** Compiles ORDER BY; empty without keys. */
  orderBy(orders: unknown, scope: Scope): string {
    const keys = nodes(orders).map((order) => {
      const { type, null_order: nulls, expression } = take(order, 'type', 'null_order', 'expression');
      const isAll = node(expression)['class'] === 'STAR' && take(node(expression), 'columns').columns === true;
      return `${isAll ? 'ALL' : this.textOf(node(expression), scope)}${known(directions, type, 'The order')}${known(nullOrders, nulls, 'The order')}`;
    });
    return keys.length === 0 ? '' : ` ORDER BY ${keys.join(', ')}`;
  }

  /** A keyword with its expression; empty without one. */
  clause(word: string, condition: unknown, scope: Scope): string {
    return isSet(condition) ? `${word} ${this.textOf(node(condition), scope)}` : '';
  }

  /** Expressions, separated by commas. */
  textOfAll(given: readonly SqlNode[], scope: Scope): string {
    return given.map((item) => this.textOf(item, scope)).join(', ');
  }

  textOf(given: SqlNode, scope: Scope): string {
    this.#budget.addParts(1);
    return this.#budget.deeper(() => {
      const of = (value: unknown): string => this.textOf(node(value), scope);
      switch (given['class']) {
        case 'COLUMN_REF': {
          const names = namesOf(given);
          this.#budget.addParts(scope.partsOf(names) - 1);
          return columnText(names, scope);
        }
        case 'POSITIONAL_REFERENCE': {
          this.#budget.addParts(scope.partsOfAny() - 1);
          return `#${positionOf(take(given, 'index').index)}`;
        }
        case 'CONSTANT':
          return constantText(node(take(given, 'value').value));
        case 'PARAMETER':
          return this.#parameter(text(take(given, 'identifier').identifier));
        case 'COMPARISON': {
          const { left, right } = take(given, 'left', 'right');
          const compared = `(${of(left)} ${known(comparisons, given['type'], 'The comparison')} ${of(right)})`;
          return given['type'] === 'COMPARE_DISTINCT_FROM' ? unsimplified(compared) : compared;
        }
        case 'BETWEEN': {
          const { input, lower, upper } = take(given, 'input', 'lower', 'upper');
          return this.#budget.costly(() => `(${of(input)} BETWEEN ${of(lower)} AND ${of(upper)})`);
        }
        case 'CONJUNCTION': {
          const word = known(conjunctions, given['type'], 'The condition');
          return `(${nodes(take(given, 'children').children)
            .map((child) => of(child))
            .join(` ${word} `)})`;
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
          const [value, written] = [of(child), typeText(node(type))];
          const call = (place: string): string => `${isTried === true ? 'TRY_CAST' : 'CAST'}(${place} AS ${written})`;
          const guard = zoneGuard(written, this.literal(node(child)), isTried === true);
          if (guard === null) return call(value);
          this.#budget.addParts(partsOfGuard);
          return guardedCall([{ text: value, isConstant: isConstant(node(child)) }], guard, (place) => call(place!));
        }
        case 'COLLATE': {
          const { child, collation } = take(given, 'child', 'collation');
          return `(${of(child)} COLLATE ${text(collation)
            .split('.')
            .map((name) => known(collations, name.toLowerCase(), 'The collation'))
            .join('.')})`;
        }
        case 'FUNCTION':
          return this.call(given, scope, functions);
        case 'WINDOW':
          return this.#windows.text(given, scope);
        case 'OPERATOR':
          return this.#operator(given, scope);
        case 'SUBQUERY':
          return this.#budget.costly(() => this.#subqueryExpression(given, scope));
        // If no lambda can be here, the arrow is the operator of JSON.
        case 'LAMBDA': {
          const { lhs, expr } = take(given, 'lhs', 'expr');
          return this.#scalar('json_extract', [node(lhs), node(expr)], [of(lhs), of(expr)]);
        }
        default:
          throw refused(given['class'] === 'STAR' ? '* within an expression, or COLUMNS' : nodeName(given));
      }
    });
  }

  #parameter(name: string): string {
    const value = this.#options.parameters.get(name);
    if (value === undefined) {
      const isColumn = name === 'rowID' || name === 'version';
      throw new QueryError(
        'query_invalid',
        `There is no value for the parameter $${name}.${isColumn ? ` The column is named "$${name}", in double quotes.` : ''}`,
      );
    }
    this.#used.add(name);
    const written = parameterText(value);
    this.#budget.addText(written.length);
    return written;
  }

  /** Compiles a call of a scalar function, an aggregate or an operator. */
  call(given: SqlNode, scope: Scope, allowed: ReadonlySet<string>): string {
    const {
      children,
      filter,
      order_bys: orders,
      distinct,
    } = take(given, 'function_name', 'schema', 'children', 'filter', 'order_bys', 'distinct', 'is_operator');
    const name = this.functionOf(given, allowed);
    const values = name === 'struct_extract' ? nodes(children).map(withEncodedText) : nodes(children);
    if (allowed === functions && functionBounds.has(name)) {
      const isAggregate = distinct === true || isSet(filter) || nodes(take(node(orders), 'orders').orders).length > 0;
      if (!isAggregate && values.every((value) => !isSet(value['alias']))) {
        const [texts, parts] = this.#budget.measure(() => values.map((value) => this.textOf(value, scope)));
        if (copyingFunctions.has(name)) this.#budget.addParts(2 * parts);
        return this.#scalar(name, values, texts);
      }
      this.checkAggregate(name, values);
    }
    if (
      lambdaFunctions.has(name) &&
      values.length === 2 &&
      values[1]!['class'] === 'LAMBDA' &&
      distinct !== true &&
      !isSet(filter) &&
      nodes(take(node(orders), 'orders').orders).length === 0
    ) {
      return this.#lambdaCall(name, values[0]!, values[1]!, scope);
    }
    const within = `${distinct === true ? 'DISTINCT ' : ''}${this.argumentsOf(name, values, scope)}${this.orderBy(take(node(orders), 'orders').orders, scope)}`;
    return `${callText(name, within)}${isSet(filter) ? ` FILTER (WHERE ${this.textOf(node(filter), scope)})` : ''}`;
  }

  /** The name of the function that is called. Throws QueryError if it is not allowed here. */
  functionOf(given: SqlNode, allowed: ReadonlySet<string>): string {
    const name = text(given['function_name']).toLowerCase();
    // The parser sets the schema `main` for functions with their own syntax, such as extract(year FROM born).
    const isKnown =
      (given['schema'] === '' || given['schema'] === 'main') &&
      (allowed.has(name) || (allowed === functions && sqlOperators.has(name)));
    if (!isKnown) throw new QueryError('query_invalid', noFunction(String(given['function_name'])));
    return name;
  }

  /**
   * Compiles a call of a function with a bound: throws QueryError if literals exceed it, or adds a guard if that is not
   * known yet.
   */
  #scalar(name: string, given: readonly SqlNode[], texts: readonly string[]): string {
    const literals = given.map((value) => this.literal(value));
    const call = (...places: readonly string[]): string => callText(name, places.join(', '));
    const guard = functionBounds.get(name)!({ name, literals, isInLambda: this.#lambdas > 0 });
    const [, pattern, escape] = literals;
    const like =
      typeof pattern === 'string'
        ? likeText(name, texts[0]!, pattern, typeof escape === 'string' ? escape : undefined)
        : null;
    if (like !== null) return like;
    if (guard === null) return call(...texts);
    this.#budget.addParts(partsOfGuard);
    return guardedCall(
      texts.map((value, at) => ({ text: value, isConstant: isConstant(given[at]!) })),
      guard,
      call,
    );
  }

  /**
   * Checks an aggregate or a window function with a bound. It cannot have a guard, so it may only run if its literals
   * show that it stays within the bound.
   */
  checkAggregate(name: string, given: readonly SqlNode[]): void {
    const guard =
      functionBounds.get(name)?.({
        name,
        literals: given.map((value) => this.literal(value)),
        isInLambda: this.#lambdas > 0,
      }) ?? null;
    if (guard !== null)
      throw refused(`DISTINCT, ORDER BY, FILTER, OVER or a name of an argument with the function ${name}`);
  }

  /** The value of a literal or a parameter; undefined if it is not known here. */
  literal(given: SqlNode): Literal {
    if (given['class'] === 'PARAMETER') {
      const value = this.#options.parameters.get(text(given['identifier']));
      return typeof value === 'object' && value !== null ? Number(JSON.stringify(value)) : value;
    }
    return given['class'] === 'CONSTANT' ? literalOf(node(given['value'])) : undefined;
  }

  /** Compiles the arguments of a call, separated by commas. */
  argumentsOf(name: string, children: readonly SqlNode[], scope: Scope): string {
    const isLambda = (child: SqlNode): boolean => child['class'] === 'LAMBDA' && lambdaFunctions.has(name);
    const [values, parts] = this.#budget.measure(() =>
      children.map((child) => (isLambda(child) ? null : this.#argument(child, scope))),
    );
    if (copyingFunctions.has(name)) this.#budget.addParts(2 * parts);
    return children.map((child, at) => values[at] ?? this.#lambda(child, scope, parts)).join(', ');
  }

  /** Compiles a call with a lambda. Adds a guard if the results may be larger than the elements. */
  #lambdaCall(name: string, elements: SqlNode, lambda: SqlNode, scope: Scope): string {
    const [written, parts] = this.#budget.measure(() => this.#argument(elements, scope));
    const { alias, unnamed } = withoutAlias(elements);
    const { mayGrow, copied } = growthOf(node(lambda['expr']), parametersOf(lambda), (table, column) =>
      scope.hasColumn(table, column),
    );
    const isGuarded =
      alias === '' && this.literal(unnamed) === undefined && (copied.length > 0 || (mayGrow && !filters.has(name)));
    const { names, body } = isGuarded
      ? this.#budget.costly(() => this.#lambdaParts(lambda, scope, parts))
      : this.#lambdaParts(lambda, scope, parts);
    const call = (place: string): string => `"${name}"(${place}, (lambda ${names.join(', ')}: ${body}))`;
    if (!isGuarded) return call(written);
    this.#budget.addParts(partsOfGuard);
    this.#budget.addText(2 * body.length);
    const guard = lambdaGuard(name, {
      parameters: names,
      body,
      mayGrow: mayGrow && !filters.has(name),
      copied: copied.map(({ column, share }) => ({ column: this.textOf(column, scope), share })),
    });
    return guardedCall([{ text: written, isConstant: false }], guard, (place) => call(place!));
  }

  #argument(given: SqlNode, scope: Scope): string {
    const { alias, unnamed } = withoutAlias(given);
    return `${alias === '' ? '' : `${quoteName(alias)} := `}${this.textOf(unnamed, scope)}`;
  }

  #lambda(given: SqlNode, outer: Scope, parts: number): string {
    const { names, body } = this.#lambdaParts(given, outer, parts);
    return `(lambda ${names.join(', ')}: ${body})`;
  }

  /** Compiles a lambda. `parts` is the size of the values that its parameters stand for. */
  #lambdaParts(
    given: SqlNode,
    outer: Scope,
    parts: number,
  ): { readonly names: readonly string[]; readonly body: string } {
    const { lhs, expr } = take(given, 'lhs', 'expr');
    const left = node(lhs);
    // The tree has several parameters as a row.
    const parameters =
      left['class'] === 'FUNCTION' && left['function_name'] === 'row' ? nodes(left['children']) : [left];
    const scope = new Scope(outer);
    const names = parameters.map((parameter) => {
      const [name, ...others] = parameter['class'] === 'COLUMN_REF' ? namesOf(parameter) : [];
      if (name === undefined || others.length > 0) throw refused('A lambda with such parameters');
      scope.addName(name, parts);
      return quoteName(name);
    });
    this.#lambdas += 1;
    const body = this.#budget.costly(() => this.textOf(node(expr), scope));
    this.#lambdas -= 1;
    return { names, body };
  }

  #operator(given: SqlNode, scope: Scope): string {
    const operands = nodes(take(given, 'children').children);
    const [first, ...rest] = operands.map((operand) => this.#operand(operand, scope));
    if (first === undefined) return given['type'] === 'ARRAY_CONSTRUCTOR' ? '[]' : this.#refuseOperator(given);
    switch (given['type']) {
      case 'OPERATOR_NOT':
        return `(NOT ${operands[0]!['type'] === 'COMPARE_NOT_DISTINCT_FROM' ? unsimplified(String(first)) : first})`;
      case 'OPERATOR_IS_NULL':
        return `(${first} IS NULL)`;
      case 'OPERATOR_IS_NOT_NULL':
        return `(${first} IS NOT NULL)`;
      case 'OPERATOR_COALESCE':
        return `coalesce(${[first, ...rest].join(', ')})`;
      case 'OPERATOR_TRY':
        return `TRY(${first})`;
      case 'GROUPING_FUNCTION':
        return `GROUPING(${[first, ...rest].join(', ')})`;
      case 'ARRAY_CONSTRUCTOR':
        return `[${[first, ...rest].join(', ')}]`;
      case 'COMPARE_IN':
        return `(${first} IN (${rest.join(', ')}))`;
      case 'COMPARE_NOT_IN':
        return `(${first} NOT IN (${rest.join(', ')}))`;
      case 'ARRAY_EXTRACT':
        return `(${first})[${rest.join()}]`;
      // The tree has an empty list for an omitted bound.
      case 'ARRAY_SLICE':
        return `(${first})[${rest.map((bound, at) => bound ?? (at === 1 && rest.length === 3 ? '-' : '')).join(':')}]`;
      case 'STRUCT_EXTRACT': {
        const name = textOfConstant(operands[1]!);
        if (name === null) throw refused('A member name of this form');
        return memberText(String(first), name);
      }
      default:
        return this.#refuseOperator(given);
    }
  }

  #operand(given: SqlNode, scope: Scope): string | null {
    const isLeftOut = given['class'] === 'CONSTANT' && node(node(given['value'])['type'])['id'] === 'LIST';
    return isLeftOut ? null : this.textOf(given, scope);
  }

  #refuseOperator(given: SqlNode): never {
    throw refused(`The operator ${nodeName(given)}`);
  }

  #subqueryExpression(given: SqlNode, scope: Scope): string {
    const {
      subquery_type: kind,
      subquery,
      child,
      comparison_type: comparison,
    } = take(given, 'subquery_type', 'subquery', 'child', 'comparison_type');
    const inner = `(${this.#options.subquery(subquery, scope)})`;
    if (kind === 'SCALAR') return inner;
    if (kind === 'EXISTS') return `EXISTS ${inner}`;
    if (kind === 'NOT_EXISTS') return `(NOT EXISTS ${inner})`;
    if (kind !== 'ANY') throw refused('A subquery of this kind');
    return `(${this.textOf(node(child), scope)} ${known(comparisons, comparison, 'The comparison')} ANY ${inner})`;
  }
}

/** A constant whose text, the name of a member, is encoded for the engine. */
function withEncodedText(given: SqlNode): SqlNode {
  const name = textOfConstant(given);
  return name === null ? given : { ...given, value: { ...node(given['value']), value: encodeName(name) } };
}

function positionOf(index: unknown): string {
  if (!/^\d{1,4}$/.test(text(index))) throw refused('A position of this form');
  return text(index);
}

/**
 * Wraps a condition that is never null, so that the engine does not simplify it. In columns that are all null, the
 * engine evaluates `a IS DISTINCT FROM 1 OR a = 2` to false.
 */
function unsimplified(condition: string): string {
  return `coalesce(${condition}, false)`;
}

function callText(name: string, within: string): string {
  return `"${name}"(${within})${brokenWhenEmpty.has(name) ? '[:]' : ''}`;
}
