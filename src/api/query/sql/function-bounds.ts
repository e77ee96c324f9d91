/**
 * Bounds on functions whose result, time or stack grows faster than their arguments. DuckDB checks the memory limit and
 * interrupts between chunks of rows, not within a call. So such a call is checked before it runs:
 *
 * * A call whose arguments are literals is checked while the query is compiled.
 * * Any other call becomes `CASE WHEN <beyond the bound> THEN error(...) ELSE <the call> END` (guarded-call.ts).
 *
 * A function whose result is as long as its arguments together, such as `concat`, needs no bound: the limits of queries
 * and cells bound its arguments.
 */
import { QueryError } from '../language/query-error.ts';
import { words } from './functions.ts';
import { byteLengthSql, type Guard } from './guarded-call.ts';
import { quoteText, type Literal } from './literals.ts';

/** The guard that a call needs; null if it needs none. Throws QueryError if the literals are beyond the bound. */
type FunctionBound = (call: {
  readonly name: string;
  readonly literals: readonly Literal[];
  readonly isInLambda: boolean;
}) => Guard | null;

/**
 * Limit of a text whose length depends on a number, such as the one of `repeat`, in bytes. A chunk of 2,048 such texts
 * takes 128 MiB.
 */
export const madeTextMax = 64 * 1024;
/** Limit of a list whose length depends on a number, such as the one of `range`, in elements. */
const madeListMax = 10_000;
/** The limits within a lambda, which runs for each element of a list. */
const madeTextMaxInLambda = 1024;
const madeListMaxInLambda = 100;
/**
 * Limit of a text from replacing or joining, and of the argument of a function whose result is several times as long,
 * in bytes.
 */
export const joinedTextMax = 1024 * 1024;
const joinedTextMaxInLambda = 64 * 1024;
const joinedMax = (isInLambda: boolean): number => (isInLambda ? joinedTextMaxInLambda : joinedTextMax);
const inLambda = (isInLambda: boolean): string => (isInLambda ? ' in a lambda' : '');
/** Limit of the steps of a search for a text in another: the product of their lengths in bytes. */
const searchMax = 10_000_000;
/** A search for a text up to this length stays within `searchMax` in any cell, in bytes. */
const soughtLiteralMax = 32;
/** Limit of the steps of a comparison of two texts: the product of their lengths in bytes. */
const comparedMax = 250_000;
/** Limit of a pattern, in bytes. */
const patternMax = 1000;
/** Limit of the steps of matching LIKE or GLOB: DuckDB tries each position for each wildcard. */
const matchMax = 100_000_000;
/** Limit of `*` and `..` in a JSON path. */
const pathWildcardsMax = 3;
/**
 * Limits of the rows that an aggregate such as `max(a, n)` keeps, and of the values that `approx_top_k` counts, which
 * takes that many steps for each row.
 */
const keptMax = 10_000;
const topMax = 100;

const countOf = (place: string, part: string): string =>
  `(strlen(${place}) - strlen(replace(${place}, ${quoteText(part)}, '')))`;

function beyond(message: string): QueryError {
  return new QueryError('limit_exceeded', message);
}

const isShort = (literal: Literal, bytesMax: number): boolean =>
  literal === null || (literal !== undefined && Buffer.byteLength(String(literal)) <= bytesMax);

/** A text that is repeated a number of times. */
const repeated: FunctionBound = ({ name, literals: [text, times], isInLambda }) => {
  const bytesMax = isInLambda ? madeTextMaxInLambda : madeTextMax;
  const message = `${name} makes a text or list of more than ${bytesMax} bytes${inLambda(isInLambda)}.`;
  if (text === null || times === null || Number(times) <= 1) return null;
  if (text !== undefined && times !== undefined) {
    if (Buffer.byteLength(String(text)) * Number(times) > bytesMax) throw beyond(message);
    return null;
  }
  return { isBeyond: (first, second) => `${byteLengthSql(first!)} * CAST(${second} AS DOUBLE) > ${bytesMax}`, message };
};

/** A text whose length is the second argument. */
const lengthened: FunctionBound = ({ name, literals: [, length], isInLambda }) => {
  const most = isInLambda ? madeTextMaxInLambda : madeTextMax;
  const message = `${name} makes a text with a length of more than ${most}${inLambda(isInLambda)}.`;
  if (length !== undefined && Number(length) <= most) return null;
  if (typeof length === 'number') throw beyond(message);
  return { isBeyond: (_value, place) => `CAST(${place} AS DOUBLE) > ${most}`, message };
};

/**
 * An element up to this size may be repeated without limit, in bytes: it takes about as much memory as a number, or as
 * the pointer to a text.
 */
export const freeElementBytes = 32;

/** The bytes of an element beyond `freeElementBytes`. */
const bytesBeyondFree = (place: string): string =>
  `greatest(coalesce(${byteLengthSql(place)}, 0) - ${freeElementBytes}, 0)`;

/** A list whose length is the second argument, filled with a value. */
const resized: FunctionBound = ({ name, literals: [, length, value], isInLambda }) => {
  const most = isInLambda ? madeListMaxInLambda : madeListMax;
  const longest = isInLambda ? madeTextMaxInLambda : madeTextMax;
  const message = `${name} makes a list with a length of more than ${most}, or repeats a value of more than ${freeElementBytes} bytes to more than ${longest}${inLambda(isInLambda)}.`;
  const isShortValue = value === null || (value !== undefined && isShort(value, freeElementBytes));
  if (length !== undefined && Number(length) <= most && isShortValue) return null;
  if (typeof length === 'number' && length > most) throw beyond(message);
  return {
    isBeyond: (_elements, place, filling) =>
      `(CAST(${place} AS DOUBLE) > ${most}${filling === undefined ? '' : ` OR CAST(${place} AS DOUBLE) * ${bytesBeyondFree(filling)} > ${longest}`})`,
    message,
  };
};

/** A list that selects elements of another by their positions, which may be repeated. */
const selected: FunctionBound = ({ name, isInLambda }) => {
  const most = isInLambda ? madeTextMaxInLambda : madeTextMax;
  return {
    isBeyond: (elements, places) => {
      const bytes = `list_sum(list_transform(${places}, (lambda _w: ${bytesBeyondFree(`list_extract(${elements}, TRY_CAST(_w AS BIGINT))`)})))`;
      return `${bytes} > ${most} + 2 * coalesce(list_sum(list_transform(${elements}, (lambda _w: ${byteLengthSql('_w')}))), 0)`;
    },
    message: `${name} repeats elements to more than ${most} bytes beyond twice what the list has${inLambda(isInLambda)}.`,
  };
};

/** A list of numbers or moments. */
const ranged: FunctionBound = ({ name, literals, isInLambda }) => {
  const most = isInLambda ? madeListMaxInLambda : madeListMax;
  const message = `${name} makes a list of more than ${most} elements${inLambda(isInLambda)}. After FROM it may make as many rows as there is time for.`;
  if (literals.every((literal) => typeof literal === 'number')) {
    const [start, stop, step] =
      literals.length === 1 ? [0, literals[0]!, 1] : [literals[0]!, literals[1]!, literals[2] ?? 1];
    if (step !== 0 && (stop - start) / step > most) throw beyond(message);
    return null;
  }
  // The arguments are integers, or two moments and an interval. Only the engine knows which.
  const number = (place: string): string => `TRY_CAST(CAST(${place} AS VARCHAR) AS DOUBLE)`;
  const moment = (place: string): string => `epoch(TRY_CAST(CAST(${place} AS VARCHAR) AS TIMESTAMP))`;
  const interval = (place: string): string => `epoch(TRY_CAST(CAST(${place} AS VARCHAR) AS INTERVAL))`;
  return {
    isBeyond: (first, second, step) => {
      if (second === undefined) return `${number(first!)} > ${most}`;
      const numbers = `(${number(second)} - ${number(first!)}) / ${step === undefined ? '1' : number(step)}`;
      const moments = step === undefined ? '0' : `(${moment(second)} - ${moment(first!)}) / ${interval(step)}`;
      return `coalesce(${numbers}, ${moments}, 0) > ${most}`;
    },
    message,
  };
};

/** A search for one text in another. */
const searched: FunctionBound = ({ name, literals: [, sought] }) => {
  if (sought !== undefined && isShort(sought, soughtLiteralMax)) return null;
  return {
    isBeyond: (text, place) => `${byteLengthSql(text!)} * ${byteLengthSql(place!)} > ${searchMax}`,
    message: `${name} looks for a text that is too long: the bytes of both, multiplied, are more than ${searchMax}.`,
  };
};

const replaced: FunctionBound = ({ name, literals: [, from, to], isInLambda }) => {
  const bytesMax = joinedMax(isInLambda);
  if (
    typeof from === 'string' &&
    typeof to === 'string' &&
    isShort(from, soughtLiteralMax) &&
    Buffer.byteLength(to) <= Buffer.byteLength(from)
  )
    return null;
  return {
    isBeyond: (text, old, new_) => {
      // Check the maximum first, then count the matches.
      const most = `strlen(${text}) * CAST(strlen(${new_}) AS DOUBLE) / greatest(strlen(${old}), 1) > ${bytesMax}`;
      const places = `(strlen(${text}) - strlen(replace(${text}, ${old}, ''))) / greatest(strlen(${old}), 1)`;
      return `(strlen(${text}) * CAST(strlen(${old}) AS DOUBLE) > ${searchMax} OR (${most} AND ${places} * strlen(${new_}) > ${bytesMax}))`;
    },
    message: `${name} makes a text of more than ${bytesMax} bytes${inLambda(isInLambda)}, or looks for a text that is too long.`,
  };
};

/** A regular expression as the second argument. */
const matched: FunctionBound = ({ name, literals: [, pattern] }) => {
  const message = `${name} has a pattern of more than ${patternMax} bytes.`;
  if (pattern === undefined) return { isBeyond: (_text, place) => `${byteLengthSql(place!)} > ${patternMax}`, message };
  if (!isShort(pattern, patternMax)) throw beyond(message);
  return null;
};

/**
 * The limit for `regexp_replace`, as a multiple of the limit for `replace`: it is computed as if each character were
 * replaced.
 */
const replacedByPatternTimes = 4;

const replacedByPattern: FunctionBound = (call) => {
  const guard = matched(call);
  if (guard === null && isShort(call.literals[2], 1)) return null;
  const bytesMax = replacedByPatternTimes * joinedMax(call.isInLambda);
  return {
    isBeyond: (text, pattern, new_) =>
      `(${byteLengthSql(pattern!)} > ${patternMax} OR (strlen(${text}) + 1) * CAST(strlen(${new_}) AS DOUBLE) > ${bytesMax})`,
    message: `${call.name} could make a text of more than ${bytesMax} bytes${inLambda(call.isInLambda)}, or has a pattern of more than ${patternMax}.`,
  };
};

/** A measure of the difference of two texts. */
const compared: FunctionBound = ({ name, literals: [first, second] }) => {
  const message = `${name} compares texts that are too long: their bytes, multiplied, are more than ${comparedMax}.`;
  return first === null || second === null
    ? null
    : { isBeyond: (a, b) => `${byteLengthSql(a!)} * ${byteLengthSql(b!)} > ${comparedMax}`, message };
};

/** A function whose result is several times as long as its argument. The argument is limited. */
const encoded: FunctionBound = ({ name, literals: [text], isInLambda }) => {
  const bytesMax = joinedMax(isInLambda);
  return text === undefined
    ? {
        isBeyond: (place) => `${byteLengthSql(place!)} > ${bytesMax}`,
        message: `${name} gets a text of more than ${bytesMax} bytes${inLambda(isInLambda)}.`,
      }
    : null;
};

/** The elements of a list, joined to one text. */
const joined: FunctionBound = ({ name, isInLambda }) => ({
  isBeyond: (elements, separator) =>
    `coalesce(list_sum(list_transform(${elements}, (lambda _w: strlen(CAST(_w AS VARCHAR))))), 0) + len(${elements}) * ${byteLengthSql(separator ?? "''")} > ${joinedMax(isInLambda)}`,
  message: `${name} makes a text of more than ${joinedMax(isInLambda)} bytes${inLambda(isInLambda)}.`,
});

/** Matches a width or precision in a format of `printf` or `format` that has four digits, or that is an argument. */
const wideFormat = String.raw`%[-+ #0\d.$]*(\*|\d{4})|\{\d*:[^{}]*(\d{4}|\{)`;

/** A formatted text. Each placeholder may contain each argument, padded to a width of three digits. */
const formatted: FunctionBound = ({ name, isInLambda }) => ({
  isBeyond: (text, ...values) => {
    const bytes = ['1000', ...values.map((value) => `coalesce(${byteLengthSql(value)}, 0)`)].join(' + ');
    return `(regexp_matches(${text}, ${quoteText(wideFormat)}) OR strlen(${text}) + (${countOf(text!, '{')} + ${countOf(text!, '%')}) * CAST(${bytes} AS DOUBLE) > ${joinedMax(isInLambda)})`;
  },
  message: `${name} makes a text of more than ${joinedMax(isInLambda)} bytes${inLambda(isInLambda)}, or has a width of more than three digits.`,
});

/**
 * Limit of the name of a time zone, and of a text with one, in bytes. DuckDB compares an unknown name with all known
 * ones by `levenshtein`: 1,000 bytes take 6 ms.
 */
const zoneMax = 100;
/** The limit for a list or row of several such texts. */
const zonesMax = 64 * 1024;

/** An argument that is the name of a time zone, or a text with one. */
const zoned =
  (at: number): FunctionBound =>
  ({ name, literals }) => {
    const message = `${name} has a time zone, or a text with one, of more than ${zoneMax} bytes.`;
    const literal = literals[at];
    if (literal === undefined)
      return { isBeyond: (...places) => `${byteLengthSql(places[at]!)} > ${zoneMax}`, message };
    if (!isShort(literal, zoneMax)) throw beyond(message);
    return null;
  };

/**
 * The guard of a cast to a type with time zones; null if it needs none. TRY_CAST of a text that is too long gives NULL.
 */
export function zoneGuard(type: string, literal: Literal, isTried: boolean): Guard | null {
  if (!type.includes(zonedType) || (literal !== undefined && isShort(literal, zoneMax))) return null;
  const bytesMax = type === zonedType ? zoneMax : zonesMax;
  return {
    isBeyond: (place) => `strlen(trim(CAST(${place} AS VARCHAR), ${quoteText(' \t\n\r\v\f')})) > ${bytesMax}`,
    message: isTried ? null : `A text of more than ${bytesMax} bytes is cast to ${type}.`,
  };
}

const zonedType = 'TIMESTAMP WITH TIME ZONE';

/** A path in JSON, or a list of them. */
const pathed: FunctionBound = ({ name, literals: [, path] }) => {
  const message = `${name} has a path with more than ${pathWildcardsMax} wildcards.`;
  if (path === undefined) {
    return {
      isBeyond: (_value, place) =>
        `len(regexp_extract_all(CAST(${place} AS VARCHAR), '\\*|\\.\\.')) > ${pathWildcardsMax}`,
      message,
    };
  }
  if ((String(path).match(/\*|\.\./g)?.length ?? 0) > pathWildcardsMax) throw beyond(message);
  return null;
};

/**
 * An aggregate that keeps the number of rows given by the argument at this position. It can have no guard at run time,
 * because it is not called for each row.
 */
const kept =
  (at: number, most: number): FunctionBound =>
  ({ name, literals }) => {
    const count = literals[at];
    if (typeof count !== 'number' || count > most)
      throw beyond(`The last argument of ${name} must be a number or a parameter, and ${most} at most.`);
    return null;
  };

/** The steps of matching a pattern with these wildcards. Wildcards at its end take none. */
const stepsOf = (text: string, pattern: string, wildcard: string): string => {
  const begin = `rtrim(${pattern}, ${quoteText(wildcard)})`;
  return `pow(strlen(${text}) + 1, ${countOf(begin, wildcard)}) * strlen(${pattern})`;
};

/** A pattern of LIKE or GLOB. `like.ts` compiles most literal patterns in another way. */
const wildcards =
  (wildcard: string): FunctionBound =>
  ({ literals: [, pattern] }) => {
    const message = `A pattern is longer than ${patternMax} bytes, or has too many "${wildcard}" for the length of the text.`;
    if (typeof pattern === 'string') {
      if (!isShort(pattern, patternMax)) throw beyond(message);
      if (wildcardsIn(pattern, wildcard) <= 1) return null;
    }
    return {
      isBeyond: (text, place) =>
        `(strlen(${place}) > ${patternMax} OR ${stepsOf(text!, place!, wildcard)} > ${matchMax})`,
      message,
    };
  };

/** The number of groups of a wildcard in a pattern, without the one at its end. */
export function wildcardsIn(pattern: string, wildcard: string): number {
  return (
    pattern
      .split(wildcard)
      .slice(0, -1)
      .filter((part, at) => at === 0 || part !== '').length - (pattern.endsWith(wildcard) ? 1 : 0)
  );
}

/**
 * The functions with a bound. A call with fewer arguments than `argumentsMin` needs none: it is a mistake or harmless.
 */
const bounded: readonly (readonly [names: string, argumentsMin: number, bound: FunctionBound])[] = [
  ['repeat', 2, repeated],
  ['lpad rpad', 3, lengthened],
  ['list_resize array_resize', 2, resized],
  ['list_select array_select', 2, selected],
  ['range generate_series', 1, ranged],
  ['contains instr position split split_part str_split string_split string_to_array strpos', 2, searched],
  ['replace', 3, replaced],
  [
    'regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array str_split_regex string_split_regex',
    2,
    matched,
  ],
  ['regexp_replace', 3, replacedByPattern],
  ['damerau_levenshtein editdist3 jaro_similarity jaro_winkler_similarity levenshtein', 2, compared],
  ['base64 bin hex json_quote regexp_escape to_base64 to_binary to_hex url_encode', 1, encoded],
  ['array_to_string', 1, joined],
  ['format printf', 1, formatted],
  [
    'json_array_length json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_keys json_type json_value ->>',
    2,
    pathed,
  ],
  ['~~ !~~ ~~* !~~* like_escape not_like_escape ilike_escape not_ilike_escape', 2, wildcards('%')],
  ['~~~', 2, wildcards('*')],
  ['timezone', 2, zoned(0)],
  ['time_bucket', 3, zoned(2)],
  ['strptime', 2, zoned(0)],
  ['max min', 2, kept(1, keptMax)],
  ['arg_max arg_min argmax argmin max_by min_by', 3, kept(2, keptMax)],
  ['approx_top_k', 2, kept(1, topMax)],
];

/** The bounds by the names of their functions. */
export const functionBounds: ReadonlyMap<string, FunctionBound> = new Map(
  bounded.flatMap(([names, argumentsMin, bound]) => {
    return words(names).map((name): [string, FunctionBound] => [
      name,
      (call) => (call.literals.length < argumentsMin ? null : bound(call)),
    ]);
  }),
);
