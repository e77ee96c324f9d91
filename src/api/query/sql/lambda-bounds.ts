/**
 * Bounds on functions with a lambda, such as `list_transform`. The lambda runs for each element, and what it takes from
 * outside comes once for each: `list_transform(range(5000), x -> long)` copies `long` 5,000 times for each row. A
 * lambda that makes nothing but what is about as long as its element has no bound.
 */
import { freeElementBytes, functionBounds, joinedTextMax, madeTextMax } from './function-bounds.ts';
import type { Guard } from './guarded-call.ts';
import { lambdaFunctions, words } from './functions.ts';
import { list, node, nodes, text, type SqlNode } from './node.ts';

/**
 * The most bytes that the results of a lambda for one list may have beyond twice what its elements have, and some for
 * each. A chunk of 2,048 such lists takes 128 MiB.
 */
const grownMax = madeTextMax;
/**
 * The most bytes of values from outside that a lambda copies for one list. They are copied for a chunk of lists at
 * once, which cannot be interrupted.
 */
const copiedMax = joinedTextMax;
/**
 * How much of this a value counts that only the guard of a function copies, such as that of `contains`: the copies last
 * for 2,048 elements, and no result is made of them.
 */
const passedShare = 1 / 64;
/**
 * The most bytes of a literal that counts as short, and the most names and literals of a lambda whose result counts as
 * one of them.
 */
const shortLiteralMax = 100;
const leavesMax = 8;

/** Functions whose result has a size that does not depend on that of their arguments, and which do not copy these. */
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

/** Functions whose result is no longer than a few times their arguments together. */
const keeping: ReadonlySet<string> = new Set(
  words(`|| ->> array_extract array_slice concat concat_ws element_at json_extract json_extract_string lcase left
    list_element list_extract list_max list_min list_pack list_slice list_value lower ltrim map_extract
    map_extract_value md5 nullif reverse right row rtrim sha256 strip_accents struct_extract struct_pack substr
    substring to_json trim ucase upper`),
);

/** Functions whose result is a part of their argument, which they do not copy. */
const picking: ReadonlySet<string> = new Set(words('array_extract list_element list_extract struct_extract'));

/** Operators that give a boolean. */
const conditions: ReadonlySet<string> = new Set(
  words('OPERATOR_NOT OPERATOR_IS_NULL OPERATOR_IS_NOT_NULL COMPARE_IN COMPARE_NOT_IN'),
);
/** Operators whose result is one of their operands, or a part of it. */
const pickingOperators: ReadonlySet<string> = new Set(
  words('OPERATOR_COALESCE OPERATOR_TRY ARRAY_EXTRACT STRUCT_EXTRACT'),
);
const copyingOperators: ReadonlySet<string> = new Set(words('ARRAY_CONSTRUCTOR ARRAY_SLICE'));

type IsColumn = (table: string, column: string) => boolean | null;

/** What is known of a lambda before it runs. */
interface LambdaGrowth {
  /** Whether a result may be much longer than its element. */
  readonly mayGrow: boolean;
  readonly copied: readonly Copied[];
}

/**
 * A name of something outside that is copied for each element, and how much of `copiedMax` it counts. It may stand
 * several times.
 */
interface Copied {
  readonly column: SqlNode;
  readonly share: number;
}

/**
 * `parameters`: the names that the lambda gives. `isColumn`: whether two names are those of a table and its column,
 * which come before a member of a parameter; null: perhaps.
 */
export function growthOf(body: SqlNode, parameters: readonly string[], isColumn: IsColumn): LambdaGrowth {
  const search = new Search(isColumn);
  const mayGrow = search.mayGrow(body, new Set(parameters));
  search.findCopied(body, new Set(parameters), 0);
  return { mayGrow: mayGrow || search.leaves > leavesMax, copied: search.copied };
}

/** The names that a lambda gives. */
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
    // Each is looked at, since it counts.
    return resultsOf(given).filter((part) => this.mayGrow(part, withParameters(part, given, own))).length > 0;
  }

  /** `share`: how much the value counts if it is from outside; 0: what is around does not copy it. */
  findCopied(given: SqlNode, own: ReadonlySet<string>, share: number): void {
    if (given['class'] === 'COLUMN_REF') {
      if (share > 0 && this.#isOwn(given, own) === false) this.copied.push({ column: withoutAlias(given), share });
      return;
    }
    const shareOfParts = shareOf(given) ?? share;
    for (const part of partsOf(given)) this.findCopied(part, withParameters(part, given, own), shareOfParts);
  }

  /**
   * Null if it may be one or the other. Then it is measured as if it came from outside, but the engine alone knows what
   * it is.
   */
  #isOwn(column: SqlNode, own: ReadonlySet<string>): boolean | null {
    const [name, member] = list(column['column_names']).map(text);
    if (!own.has(name!)) return false;
    const isColumn = member === undefined ? false : this.#isColumn(name!, member);
    return isColumn === null ? null : !isColumn;
  }
}

/** How much the values of the parts of an expression count that it copies; null if its own value is one of them. */
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

/** A member of a row has the name of the member. */
function withoutAlias(column: SqlNode): SqlNode {
  return { ...column, alias: '' };
}

/** The names that a part may use: of a lambda of a function, also those that this gives. */
function withParameters(part: SqlNode, around: SqlNode, own: ReadonlySet<string>): ReadonlySet<string> {
  const isLambda =
    part['class'] === 'LAMBDA' &&
    around['class'] === 'FUNCTION' &&
    lambdaFunctions.has(text(around['function_name']).toLowerCase());
  return isLambda ? new Set([...own, ...parametersOf(part)]) : own;
}

/** The parts of an expression whose values may be in its own. */
function resultsOf(given: SqlNode): readonly SqlNode[] {
  if (given['class'] !== 'CASE') return partsOf(given);
  return [...nodes(given['case_checks']).map((check) => node(check['then_expr'])), node(given['else_expr'])];
}

/** The expressions in an expression. */
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

/** What a guard needs of a lambda in SQL. */
interface LambdaText {
  readonly parameters: readonly string[];
  readonly body: string;
  /** Null if the results are no longer than the elements. */
  readonly mayGrow: boolean;
  readonly copied: readonly { readonly column: string; readonly share: number }[];
}

/** The guard of a list, which is the first place. */
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
      // The first comes before the body is computed, for which it may be too much.
      return `CASE WHEN ${isCopiedBeyond(elements!)} THEN true ELSE ${mayGrow ? isGrownBeyond(elements!) : 'false'} END`;
    },
    message:
      `${name} has a lambda that makes too much of its list: results of more than ${grownMax} bytes beyond twice the list, or ${copiedMax} bytes of values from outside that it copies for each element. ` +
      'Use a shorter list or shorter values, or unnest the list after FROM.',
  };
}
