/**
 * Bounds on the functions whose result, time or stack grows faster than their arguments. DuckDB checks the memory limit
 * and interrupts between chunks of rows, not within one call. So a call that multiplies is checked before it runs:
 *
 * * A call whose arguments are literals is checked while the query is compiled.
 * * Any other call becomes `CASE WHEN <beyond the bound> THEN error(...) ELSE <the call> END` (guarded-call.ts).
 *
 * A function that only adds up, such as `concat`, has no bound here: the query and the cells bound its arguments.
 */
import { QueryError } from '../language/query-error.ts';
import { words } from './functions.ts';
import { byteLengthSql, type Guard } from './guarded-call.ts';
import { quoteText } from './literals.ts';

/** The value of an argument that is a literal or a parameter; undefined for any other expression. */
export type Literal = string | number | boolean | null | undefined;

/** The guard that a call needs; null if it needs none. Throws QueryError if the literals are beyond the bound. */
type FunctionBound = (call: {
  readonly name: string;
  readonly literals: readonly Literal[];
  readonly isInLambda: boolean;
}) => Guard | null;

/**
 * The most bytes of a text that a function makes of a number, such as `repeat`. A chunk of 2,048 such texts takes 128
 * MiB.
 */
export const madeTextMax = 64 * 1024;
/** The most elements of a list that a function makes of a number, such as `range`. */
const madeListMax = 10_000;
/** The same within a lambda, which runs for each element of a list. */
const madeTextMaxInLambda = 1024;
const madeListMaxInLambda = 100;
/**
 * The most bytes of a text that a function makes by replacing or joining, and of the argument of a function whose
 * result is several times as long.
 */
export const joinedTextMax = 1024 * 1024;
const joinedTextMaxInLambda = 64 * 1024;
const joinedMax = (isInLambda: boolean): number => (isInLambda ? joinedTextMaxInLambda : joinedTextMax);
const inLambda = (isInLambda: boolean): string => (isInLambda ? ' in a lambda' : '');
/** The most steps in which a text is looked for in another: their lengths in bytes, multiplied. */
const searchMax = 10_000_000;
/** The longest text for which a search in any cell stays within `searchMax`, in bytes. */
const soughtLiteralMax = 32;
/** The most steps in which two texts are compared: their lengths in bytes, multiplied. */
const comparedMax = 250_000;
/** The most bytes of a pattern. */
const patternMax = 1000;
/** The most steps in which a pattern of LIKE or GLOB is matched: DuckDB tries each place for each wildcard. */
const matchMax = 100_000_000;
/** The most `*` and `..` in a path of JSON. */
const pathWildcardsMax = 3;
/**
 * The most rows that an aggregate keeps, such as `max(a, n)`, and that `approx_top_k` counts, which takes as many steps
 * for each row.
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

/** A text that is made of a number. */
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

/** A text whose length is an argument. */
const lengthened: FunctionBound = ({ name, literals: [, length], isInLambda }) => {
  const most = isInLambda ? madeTextMaxInLambda : madeTextMax;
  const message = `${name} makes a text with a length of more than ${most}${inLambda(isInLambda)}.`;
  if (length !== undefined && Number(length) <= most) return null;
  if (typeof length === 'number') throw beyond(message);
  return { isBeyond: (_value, place) => `CAST(${place} AS DOUBLE) > ${most}`, message };
};

/**
 * What an element may have that a list repeats, in bytes, without a bound on how often: about as much as a number
 * takes, or the place of a text.
 */
export const freeElementBytes = 32;

/** The bytes of an element beyond those that are free. */
const bytesBeyondFree = (place: string): string =>
  `greatest(coalesce(${byteLengthSql(place)}, 0) - ${freeElementBytes}, 0)`;

/** A list whose length is an argument, filled with a value. */
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

/** A list of elements of another, each as often as its place is named. */
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
  // The arguments are integers, or two moments and an interval: which of them, only the engine knows.
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

/** A text in which another is looked for. */
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
      // First the most that it could be, then the number of places.
      const most = `strlen(${text}) * CAST(strlen(${new_}) AS DOUBLE) / greatest(strlen(${old}), 1) > ${bytesMax}`;
      const places = `(strlen(${text}) - strlen(replace(${text}, ${old}, ''))) / greatest(strlen(${old}), 1)`;
      return `(strlen(${text}) * CAST(strlen(${old}) AS DOUBLE) > ${searchMax} OR (${most} AND ${places} * strlen(${new_}) > ${bytesMax}))`;
    },
    message: `${name} makes a text of more than ${bytesMax} bytes${inLambda(isInLambda)}, or looks for a text that is too long.`,
  };
};

/** A regular expression, which is the second argument. */
const matched: FunctionBound = ({ name, literals: [, pattern] }) => {
  const message = `${name} has a pattern of more than ${patternMax} bytes.`;
  if (pattern === undefined) return { isBeyond: (_text, place) => `${byteLengthSql(place!)} > ${patternMax}`, message };
  if (!isShort(pattern, patternMax)) throw beyond(message);
  return null;
};

/** The longest result of `regexp_replace` as if it replaced at each character, in so many times that of `replace`. */
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

/** Two texts whose difference is measured. */
const compared: FunctionBound = ({ name, literals: [first, second] }) => {
  const message = `${name} compares texts that are too long: their bytes, multiplied, are more than ${comparedMax}.`;
  return first === null || second === null
    ? null
    : { isBeyond: (a, b) => `${byteLengthSql(a!)} * ${byteLengthSql(b!)} > ${comparedMax}`, message };
};

/** A function whose result is several times as long as its argument. */
const encoded: FunctionBound = ({ name, literals: [text], isInLambda }) => {
  const bytesMax = joinedMax(isInLambda);
  return text === undefined
    ? {
        isBeyond: (place) => `${byteLengthSql(place!)} > ${bytesMax}`,
        message: `${name} is of a text of more than ${bytesMax} bytes${inLambda(isInLambda)}.`,
      }
    : null;
};

/** The elements of a list as one text. */
const joined: FunctionBound = ({ name, isInLambda }) => ({
  isBeyond: (elements, separator) =>
    `coalesce(list_sum(list_transform(${elements}, (lambda _w: strlen(CAST(_w AS VARCHAR))))), 0) + len(${elements}) * ${byteLengthSql(separator ?? "''")} > ${joinedMax(isInLambda)}`,
  message: `${name} makes a text of more than ${joinedMax(isInLambda)} bytes${inLambda(isInLambda)}.`,
});

/** A width or precision of four digits, or one that is an argument, of `printf` and of `format`. */
const wideFormat = String.raw`%[-+ #0\d.$]*(\*|\d{4})|\{\d*:[^{}]*(\d{4}|\{)`;

/** Each place may take each argument, padded to a width of three digits. */
const formatted: FunctionBound = ({ name, isInLambda }) => ({
  isBeyond: (text, ...values) => {
    const bytes = ['1000', ...values.map((value) => `coalesce(${byteLengthSql(value)}, 0)`)].join(' + ');
    return `(regexp_matches(${text}, ${quoteText(wideFormat)}) OR strlen(${text}) + (${countOf(text!, '{')} + ${countOf(text!, '%')}) * CAST(${bytes} AS DOUBLE) > ${joinedMax(isInLambda)})`;
  },
  message: `${name} makes a text of more than ${joinedMax(isInLambda)} bytes${inLambda(isInLambda)}, or has a width of more than three digits.`,
});

/**
 * The most bytes of the name of a time zone, and of a text with one. DuckDB compares a name that it does not know with
 * all that it knows, by `levenshtein`: 1,000 bytes take 6 ms.
 */
const zoneMax = 100;
/** The same for a list or row of several texts. */
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
 * The guard of a cast to a type that has time zones; null if it needs none. A text that is too long for a moment is
 * NULL if the cast is tried.
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
 * An aggregate that keeps as many rows as its argument at a place says. It has no guard at run time, because it is not
 * called once for each row.
 */
const kept =
  (at: number, most: number): FunctionBound =>
  ({ name, literals }) => {
    const count = literals[at];
    if (typeof count !== 'number' || count > most)
      throw beyond(`The last argument of ${name} must be a number or a parameter, and ${most} at most.`);
    return null;
  };

/** The steps in which a pattern with these wildcards is matched. Those at its end take none. */
const stepsOf = (text: string, pattern: string, wildcard: string): string => {
  const begin = `rtrim(${pattern}, ${quoteText(wildcard)})`;
  return `pow(strlen(${text}) + 1, ${countOf(begin, wildcard)}) * strlen(${pattern})`;
};

/** A pattern of LIKE or GLOB. `like.ts` writes most patterns that are literals in another way. */
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

/** How many groups of a wildcard a pattern has before its end. */
export function wildcardsIn(pattern: string, wildcard: string): number {
  return (
    pattern
      .split(wildcard)
      .slice(0, -1)
      .filter((part, at) => at === 0 || part !== '').length - (pattern.endsWith(wildcard) ? 1 : 0)
  );
}

/**
 * The bounds of functions that have one. A call with fewer arguments than stated has none: it is a mistake, or it is
 * harmless.
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

/** The bound of each function that has one. */
export const functionBounds: ReadonlyMap<string, FunctionBound> = new Map(
  bounded.flatMap(([names, argumentsMin, bound]) => {
    return words(names).map((name): [string, FunctionBound] => [
      name,
      (call) => (call.literals.length < argumentsMin ? null : bound(call)),
    ]);
  }),
);
