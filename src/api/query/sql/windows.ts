/** Compiles windows: calls with OVER, their frames, and the guards of their arguments. */
import { partsOfGuard, type Budget } from './budget.ts';
import { functions } from './functions.ts';
import { guardedCall, type Guard } from './guarded-call.ts';
import { isConstant, type Literal } from './literals.ts';
import { isSet, known, node, nodes, refused, take, withoutAlias, type SqlNode } from './node.ts';
import type { Scope } from './scope.ts';
import {
  windowCopiesGuard,
  windowCopiesText,
  windowCopying,
  windowGathering,
  windowResultsGuard,
  windowResultsText,
} from './window-bounds.ts';
import { bounds, exclusions } from './words.ts';

/** What windows need of the compiler of expressions. */
interface WindowExpressions {
  textOf(given: SqlNode, scope: Scope): string;
  textOfAll(given: readonly SqlNode[], scope: Scope): string;
  orderBy(orders: unknown, scope: Scope): string;
  argumentsOf(name: string, children: readonly SqlNode[], scope: Scope): string;
  functionOf(given: SqlNode, allowed: ReadonlySet<string>): string;
  checkAggregate(name: string, given: readonly SqlNode[]): void;
  literal(given: SqlNode): Literal;
}

export class Windows {
  readonly #expressions: WindowExpressions;
  readonly #budget: Budget;

  constructor(expressions: WindowExpressions, budget: Budget) {
    this.#expressions = expressions;
    this.#budget = budget;
  }

  /** Compiles a call with OVER. */
  text(given: SqlNode, scope: Scope): string {
    const {
      children,
      partitions,
      orders,
      start,
      end,
      start_expr: from,
      end_expr: to,
      offset_expr: offset,
      default_expr: otherwise,
      ignore_nulls: ignoresNulls,
      filter_expr: filter,
      exclude_clause: excluded,
      distinct,
      arg_orders: argumentOrders,
    } = take(
      given,
      'function_name',
      'schema',
      'children',
      'partitions',
      'orders',
      'start',
      'end',
      'start_expr',
      'end_expr',
      'offset_expr',
      'default_expr',
      'ignore_nulls',
      'filter_expr',
      'exclude_clause',
      'distinct',
      'arg_orders',
    );
    const name = this.#expressions.functionOf(given, functions);
    const all = [...nodes(children), ...[offset, otherwise].filter(isSet).map(node)];
    this.#expressions.checkAggregate(name, nodes(children));
    const within = [
      distinct === true ? 'DISTINCT ' : '',
      windowCopying.has(name)
        ? this.#copied(name, nodes(children), scope)
        : windowGathering.has(name)
          ? this.#gathered(name, nodes(children), nodes(partitions), this.#width([start, from], [end, to]), scope)
          : this.#expressions.argumentsOf(name, all, scope),
      this.#expressions.orderBy(argumentOrders, scope),
      ignoresNulls === true ? ' IGNORE NULLS' : '',
    ].join('');
    const frame = this.#frame([start, from], [end, to], scope);
    const partition = isSet(partitions) ? `PARTITION BY ${this.#expressions.textOfAll(nodes(partitions), scope)}` : '';
    const filtered = isSet(filter) ? ` FILTER (WHERE ${this.#expressions.textOf(node(filter), scope)})` : '';
    return `"${name}"(${within})${filtered} OVER (${partition}${this.#expressions.orderBy(orders, scope)}${frame}${known(exclusions, excluded, 'The window')})`;
  }

  /** Compiles the arguments of an aggregate that copies them for parts of a window. */
  #copied(name: string, given: readonly SqlNode[], scope: Scope): string {
    return this.#measured(name, given, scope, (value) => {
      const input = scope.windowInput?.([value]) ?? null;
      return [input === null ? null : windowCopiesText(input), windowCopiesGuard(name, input !== null)];
    });
  }

  /** Compiles the arguments of an aggregate whose result contains all values of a frame. */
  #gathered(
    name: string,
    given: readonly SqlNode[],
    partitions: readonly SqlNode[],
    width: number | null,
    scope: Scope,
  ): string {
    return this.#measured(name, given, scope, (value) => {
      const input = scope.windowInput?.([value, ...partitions]) ?? null;
      if (input === null)
        throw refused(`${name} with OVER of an alias or a group of the same SELECT, instead of one of a subquery,`);
      return [windowResultsText(input, partitions.length, width), windowResultsGuard(name)];
    });
  }

  /**
   * Compiles arguments. Each one that is not constant gets a guard. The guard compares a number that a subquery
   * measures before the window runs.
   */
  #measured(
    name: string,
    given: readonly SqlNode[],
    scope: Scope,
    measure: (value: SqlNode) => readonly [measured: string | null, guard: Guard],
  ): string {
    return given
      .map((value, at) => {
        const { alias, unnamed } = withoutAlias(value);
        if (alias !== '') throw refused(`OVER with a name of an argument of the function ${name}`);
        const written = this.#expressions.textOf(unnamed, scope);
        const isFixed = isConstant(unnamed);
        // The number of rows to keep, or the separator of texts, must be a literal.
        if (at > 0 && isFixed) return written;
        this.#budget.addParts(partsOfGuard);
        const [measured, guard] = measure(unnamed);
        return guardedCall(
          [
            { text: written, isConstant: isFixed },
            ...(measured === null ? [] : [{ text: measured, isConstant: false }]),
          ],
          guard,
          (place) => place!,
        );
      })
      .join(', ');
  }

  /** The maximum number of rows of a frame; null if it is unknown. */
  #width(start: readonly [unknown, unknown], end: readonly [unknown, unknown]): number | null {
    const [from, to] = [start, end].map(([kind, distance]) => {
      if (kind === 'CURRENT_ROW_ROWS') return 0;
      const rows = isSet(distance) ? this.#expressions.literal(node(distance)) : undefined;
      if (typeof rows !== 'number') return null;
      return kind === 'EXPR_PRECEDING_ROWS' ? -rows : kind === 'EXPR_FOLLOWING_ROWS' ? rows : null;
    });
    return typeof from === 'number' && typeof to === 'number' ? Math.max(0, to - from + 1) : null;
  }

  #frame(start: readonly [unknown, unknown], end: readonly [unknown, unknown], scope: Scope): string {
    const [from, to] = [start, end].map(([kind, distance]) => {
      const bound = known(bounds, kind, 'The window');
      if (bound.isExpression !== isSet(distance)) throw refused('A window frame of this form');
      return {
        unit: bound.unit,
        text: `${bound.isExpression ? `${this.#expressions.textOf(node(distance), scope)} ` : ''}${bound.text}`,
      };
    }) as [{ unit: string | null; text: string }, { unit: string | null; text: string }];
    return ` ${from.unit ?? to.unit ?? 'ROWS'} BETWEEN ${from.text} AND ${to.text}`;
  }
}
