/** Bounds on aggregates with OVER that keep copies of their arguments, or whose results have all of them. */
import { words } from './functions.ts';
import { byteLengthSql, type Guard } from './guarded-call.ts';

/**
 * The most bytes of the values of which an aggregate with OVER keeps copies for the parts of a window, all together.
 * DuckDB counts the copies in no limit, and cannot be interrupted meanwhile. Values of which each is short need no such
 * bound.
 */
const windowCopiesMax = 64 * 1024 * 1024;
const windowValueMax = 1000;

/** The most bytes of the results of an aggregate with OVER that are made at once: those of a chunk of rows. */
const windowResultsMax = 64 * 1024 * 1024;
const chunkRows = 2048;
/** What a list takes for each of its elements besides their bytes. */
const elementBytes = 16;

/** Aggregates that keep copies of their arguments: in a window, one for each of its parts. */
export const windowCopying: ReadonlySet<string> = new Set(
  words('any_value arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin max max_by min min_by mode'),
);

/** Aggregates whose result has all values of their arguments: in a window, once for each row. */
export const windowGathering: ReadonlySet<string> = new Set(
  words('array_agg group_concat histogram json_group_array json_group_object list listagg string_agg'),
);

/**
 * The bytes of all values of a window's input, as a query of one number. `input`: the input with the value as `_p0`.
 */
export function windowCopiesText(input: string): string {
  return `(SELECT coalesce(sum(${byteLengthSql('_p0')}), 0) FROM (${input}))`;
}

/**
 * The bytes of the results of a chunk of rows, about: as a query of one number. `input`: the input, with the value as
 * `_p0` and then `partitions` expressions by which it is parted. `width`: how many rows a frame has at most; null: all
 * of a part.
 */
export function windowResultsText(input: string, partitions: number, width: number | null): string {
  const keys = Array.from({ length: partitions }, (_, at) => `_p${at + 1}`);
  const bytes = `coalesce(${byteLengthSql('_p0')}, 0) + ${elementBytes}`;
  const parts = `SELECT count(*) AS _n, sum(${bytes}) AS _sum, max(${bytes}) AS _max FROM (${input})${keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`}`;
  const largest = width === null ? '_sum' : `least(_sum, _max * ${width})`;
  return `(SELECT coalesce(max(${largest}) * least(sum(_n), ${chunkRows}), 0) FROM (${parts}))`;
}

/**
 * The guard of each argument of an aggregate that keeps copies. `isMeasured`: whether its second place is the number of
 * `windowCopiesText`.
 */
export function windowCopiesGuard(name: string, isMeasured: boolean): Guard {
  return isMeasured
    ? {
        isBeyond: (place, sum) => `(${byteLengthSql(place!)} > ${windowValueMax} AND ${sum} > ${windowCopiesMax})`,
        message: `${name} with OVER is of values of more than ${windowCopiesMax} bytes together.`,
      }
    : {
        isBeyond: (place) => `${byteLengthSql(place!)} > ${windowValueMax}`,
        message: `${name} with OVER has a value of more than ${windowValueMax} bytes, which it may have only if it names columns, not aliases or groups of the same SELECT.`,
      };
}

/** The guard of the argument of an aggregate that gathers. Its second place is the number of `windowResultsText`. */
export function windowResultsGuard(name: string): Guard {
  return {
    isBeyond: (_place, bytes) => `${bytes} > ${windowResultsMax}`,
    message: `${name} with OVER makes results that are too long: those of ${chunkRows} rows would be more than ${windowResultsMax} bytes. Part the window, or give it a frame of fewer rows.`,
  };
}
