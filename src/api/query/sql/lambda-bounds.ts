/**
 * Bounds on functions with a lambda, such as `list_transform`. The lambda runs for each element, and copies outer
 * values each time: `list_transform(range(5000), x -> long)` copies `long` 5,000 times for each row. A lambda whose
 * results are about as long as the elements needs no bound.
 */
import { freeElementBytes, functionBounds, joinedTextMax, madeTextMax } from './function-bounds.ts';
import type { Guard } from './guarded-call.ts';
import { lambdaFunctions, words } from './functions.ts';
import { list, node, nodes, text, type SqlNode } from './node.ts';

/**
 * Limit of the results of a lambda for one list, in bytes beyond twice the elements and a few bytes for each. A chunk
 * of 2,048 such lists takes 128 MiB.
 */
const grownMax = madeTextMax;
/**
 * Limit of the outer values that a lambda copies for one list, in bytes. They are copied for a chunk of lists at once,
 * which cannot be interrupted.
 */
const copiedMax = joinedTextMax;
/**
 * The share of `copiedMax` for a value that only the guard of a function copies, such as the guard of `contains`: the
 * copies live for 2,048 elements, and do not go into a result.
 */
const passedShare = 1 / 64;
/**
 * A literal up to `shortLiteralMax` bytes counts as short. A lambda with up to `leavesMax` names and literals counts
 * like one of them.
 */
const shortLiteralMax = 100;
const leavesMax = 8;

/** Functions whose result size does not depend on the size of their arguments, and that do not copy them. */
const fixed: ReadonlySet<string> = new Set(
  words(`+ - * / // % ** ^ @ ^@ ~~ !~~ ~~* !~~* ~~~ @> <@ && abs add array_contains array_has array_has_all
    array_has_any array_length array_position bit_length ceil ceiling char_length character_length contains date_diff
    date_part date_trunc datediff datepart datetrunc day dayofweek dayofyear divide ends_with epoch epoch_ms even exp
    floor hash hour ilike_escape instr isfinite isinf isnan json_valid len length like_escape list_avg list_bool_and
    list_bool_or list_contains list_count list_has list_has_all list_has_any list_indexof list_position list_product
    list_sum ln log log10 log2 minute mod month multiply not_ilike_escape not_like_escape octet_length ord pow power
    prefix quarter random regexp_full_match regexp_matches round second sign sqrt starts_with strlen strpos subtract
    suffix trunc typeof unicode week year`),
);

/** Functions whose result is at most a few times as long as their arguments together. */
const keeping: ReadonlySet<string> = new Set(
  words(`|| ->> array_extract array_slice concat concat_ws element_at json_extract json_extract_string lcase left
    list_element list_extract list_max list_min list_pack list_slice list_value lower ltrim map_extract
    map_extract_value md5 nullif reverse right row rtrim sha256 strip_accents struct_extract struct_pack substr
    substring to_json trim ucase upper`),
);

/** Functions whose result is a part of their argument, and that do not copy it. */
const picking: ReadonlySet<string> = new Set(words('array_extract list_element list_extract struct_extract'));

/** Operators with a boolean result. */
const conditions: ReadonlySet<string> = new Set(
  words('OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL COMPARE_IN COMPARE_NOT_IN'),
);
/** Operators whose result is one of their operands, or a part of it. */
const pickingOperators: ReadonlySet<string> = new Set(
  words('OPERATOR_COALESCE OPERATOR_TRY ARRAY_EXTRACT STRUCT_EXTRACT'),
);
const copyingOperators: ReadonlySet<string> = new Set(words('ARRAY_CONSTRUCTOR ARRAY_SLICE'));

type IsColumn = (table: string, column: string) => boolean | null;

/** The analysis of a lambda before it runs. */
interface LambdaGrowth {
  /** Whether a result may be much longer than its element. */
  readonly mayGrow: boolean;
  readonly copied: readonly Copied[];
}

/**
 * An outer name whose value is copied for each element, and its share of `copiedMax`. A name may occur several times.
 */
interface Copied {
  readonly column: SqlNode;
  readonly share: number;
}

/**
 * Analyses the body of a lambda. `parameters` are its parameters. `isColumn` tells whether two names are a table and
 * its column, which take precedence over a member of a parameter; null: perhaps.
 */
export function growthOf(body: SqlNode, parameters: readonly string[], isColumn: IsColumn): LambdaGrowth {
  const search = new Search(isColumn);
  const mayGrow = search.mayGrow(body, new Set(parameters));
  search.findCopied(body, new Set(parameters), 0);
  return { mayGrow: mayGrow || search.leaves > leavesMax, copied: search.copied };
}

/** The names of a lambda's parameters. */
export function parametersOf(lambda: SqlNode): readonly string[] {
  const left = node(lambda['lhs']);
  return (left['class'] === 'FUNCTION' ? nodes(left['children']) : [left]).flatMap((parameter) =>
    parameter['class'] === 'COLUMN_REF' ? [text(list(parameter['column_names'])[0])] : [],
  );
}

class Search {
  readonly #isColumn: IsColumn;
  readonly copied: Copied[] = [];
  leaves = 0;

  constructor(isColumn: IsColumn) {
    this.#isColumn = isColumn;
  }

  mayGrow(given: SqlNode, own: ReadonlySet<string>): boolean {
    switch (given['class']) {
      case 'COMPARISON':
      case 'BETWEEN':
      case 'CONJUNCTION':
        return false;
      case 'COLUMN_REF':
        this.leaves += 1;
        return this.#isOwn(given, own) !== true;
      case 'CONSTANT':
      case 'PARAMETER': {
        this.leaves += 1;
        return (
          given['class'] === 'PARAMETER' || Buffer.byteLength(String(node(given['value'])['value'])) > shortLiteralMax
        );
      }
      case 'FUNCTION': {
        const name = text(given['function_name']).toLowerCase();
        if (fixed.has(name)) return false;
        return (!keeping.has(name) && !lambdaFunctions.has(name)) || this.#anyGrows(given, own);
      }
      case 'OPERATOR': {
        const type = text(given['type']);
        return (
          !conditions.has(type) &&
          (!(pickingOperators.has(type) || copyingOperators.has(type)) || this.#anyGrows(given, own))
        );
      }
      case 'CASE':
      case 'CAST':
      case 'LAMBDA':
        return this.#anyGrows(given, own);
      default:
        return true;
    }
  }

  #anyGrows(given: SqlNode, own: ReadonlySet<string>): boolean {
    // Visit each part, because each counts its leaves.
    return resultsOf(given).filter((part) => this.mayGrow(part, withParameters(part, given, own))).length > 0;
  }

  /**
   * Finds copied outer values. `share` is the share of an outer value here; 0: the enclosing expression does not copy
   * it.
   */
  findCopied(given: SqlNode, own: ReadonlySet<string>, share: number): void {
    if (given['class'] === 'COLUMN_REF') {
      if (share > 0 && this.#isOwn(given, own) === false) this.copied.push({ column: withoutAlias(given), share });
      return;
    }
    const shareOfParts = shareOf(given) ?? share;
    for (const part of partsOf(given)) this.findCopied(part, withParameters(part, given, own), shareOfParts);
  }

  /**
   * Whether a column reference is a parameter of the lambda. Null if only the engine can know; then it counts as an
   * outer value.
   */
  #isOwn(column: SqlNode, own: ReadonlySet<string>): boolean | null {
    const [name, member] = list(column['column_names']).map(text);
    if (!own.has(name!)) return false;
    const isColumn = member === undefined ? false : this.#isColumn(name!, member);
    return isColumn === null ? null : !isColumn;
  }
}

/** The share of the parts that an expression copies; null if the value of the expression is one of its parts. */
function shareOf(given: SqlNode): number | null {
  switch (given['class']) {
    case 'FUNCTION': {
      const name = text(given['function_name']).toLowerCase();
      if (picking.has(name)) return null;
      return fixed.has(name) ? (functionBounds.has(name) ? passedShare : 0) : 1;
    }
    case 'OPERATOR':
      return pickingOperators.has(text(given['type'])) ? null : Number(copyingOperators.has(text(given['type'])));
    case 'CASE':
      return null;
    case 'COMPARISON':
    case 'BETWEEN':
    case 'CONJUNCTION':
      return 0;
    default:
      return 1;
  }
}

/** A column reference without its alias, which is the name of the member in a row. */
function withoutAlias(column: SqlNode): SqlNode {
  return { ...column, alias: '' };
}

/** The parameters that a part may use. The lambda of a function also has its own. */
function withParameters(part: SqlNode, around: SqlNode, own: ReadonlySet<string>): ReadonlySet<string> {
  const isLambda =
    part['class'] === 'LAMBDA' &&
    around['class'] === 'FUNCTION' &&
    lambdaFunctions.has(text(around['function_name']).toLowerCase());
  return isLambda ? new Set([...own, ...parametersOf(part)]) : own;
}

/** The parts of an expression whose values may be in its result. */
function resultsOf(given: SqlNode): readonly SqlNode[] {
  if (given['class'] !== 'CASE') return partsOf(given);
  return [...nodes(given['case_checks']).map((check) => node(check['then_expr'])), node(given['else_expr'])];
}

/** The direct subexpressions of an expression. */
function partsOf(given: SqlNode): readonly SqlNode[] {
  const isExpression = (part: unknown): part is SqlNode =>
    typeof part === 'object' && part !== null && typeof (part as SqlNode)['class'] === 'string';
  return Object.values(given)
    .flatMap((member) => (Array.isArray(member) ? member : [member]) as unknown[])
    .flatMap((member) => {
      if (isExpression(member)) return [member];
      const { when_expr: when, then_expr: then } =
        typeof member === 'object' && member !== null ? (member as SqlNode) : {};
      return [when, then].filter(isExpression);
    });
}

/** A compiled lambda, for its guard. */
interface LambdaText {
  readonly parameters: readonly string[];
  readonly body: string;
  /** Null if the results are no longer than the elements. */
  readonly mayGrow: boolean;
  readonly copied: readonly { readonly column: string; readonly share: number }[];
}

/** The guard of a call with a lambda. The list is its first place. */
export function lambdaGuard(name: string, { parameters, body, mayGrow, copied }: LambdaText): Guard {
  const bytesOf = (value: string): string => `coalesce(strlen(CAST(${value} AS VARCHAR)), 0)`;
  const isCopiedBeyond = (elements: string): string =>
    `len(${elements}) * CAST(${copied.map(({ column, share }) => `${bytesOf(column)} * ${share}`).join(' + ')} AS DOUBLE) > ${copiedMax}`;
  const isGrownBeyond = (elements: string): string => {
    const grown = `greatest(${bytesOf(body)} - 2 * ${bytesOf(parameters[0]!)} - ${freeElementBytes}, 0)`;
    return `list_sum(list_transform(${elements}, (lambda ${parameters.join(', ')}: ${grown}))) > ${grownMax}`;
  };
  return {
    isBeyond: (elements) => {
      if (copied.length === 0) return isGrownBeyond(elements!);
      // Check the copies first: computing the body may already be too much.
      return `CASE WHEN ${isCopiedBeyond(elements!)} THEN true ELSE ${mayGrow ? isGrownBeyond(elements!) : 'false'} END`;
    },
    message:
      `${name} has a lambda that makes too much of its list: results of more than ${grownMax} bytes beyond twice the list, or ${copiedMax} bytes of values from outside that it copies for each element. ` +
      'Use a shorter list or shorter values, or unnest the list after FROM.',
  };
}
