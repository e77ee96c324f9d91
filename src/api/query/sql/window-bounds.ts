/** Bounds on aggregates with OVER that copy their arguments, or whose results contain all of them. */
import { words } from './functions.ts';
import { byteLengthSql, type Guard } from './guarded-call.ts';

/**
 * Limit of the values that an aggregate with OVER copies for the parts of a window, all together, in bytes. DuckDB
 * counts the copies against no limit, and cannot be interrupted while it makes them. If each value is short, this limit
 * does not apply.
 */
const windowCopiesMax = 64 * 1024 * 1024;
const windowValueMax = 1000;

/** Limit of the results of an aggregate with OVER for a chunk of rows, which are produced at once, in bytes. */
const windowResultsMax = 64 * 1024 * 1024;
const chunkRows = 2048;
/** The bytes that a list takes for each element in addition to the element. */
const elementBytes = 16;

/** Aggregates that copy their arguments: in a window, once for each of its parts. */
export const windowCopying: ReadonlySet<string> = new Set(
  words('any_value arbitrary arg_max arg_max_null arg_min arg_min_null argmax argmin max max_by min min_by mode'),
);

/** Aggregates whose result contains all values of their arguments: in a window, for each row. */
export const windowGathering: ReadonlySet<string> = new Set(
  words('array_agg group_concat histogram json_group_array json_group_object list listagg string_agg'),
);

/** A query for the bytes of all values of a window's input. `input` is a query with the value as `_p0`. */
export function windowCopiesText(input: string): string {
  return `(SELECT coalesce(sum(${byteLengthSql('_p0')}), 0) FROM (${input}))`;
}

/**
 * A query for the approximate bytes of the results of a chunk of rows. `input` is a query with the value as `_p0`,
 * followed by `partitions` expressions of PARTITION BY. `width` is the maximum number of rows of a frame; null: all
 * rows of a partition.
 */
export function windowResultsText(input: string, partitions: number, width: number | null): string {
  const keys = Array.from({ length: partitions }, (_, at) => `_p${at + 1}`);
  const bytes = `coalesce(${byteLengthSql('_p0')}, 0) + ${elementBytes}`;
  const parts = `SELECT count(*) AS _n, sum(${bytes}) AS _sum, max(${bytes}) AS _max FROM (${input})${keys.length === 0 ? '' : ` GROUP BY ${keys.join(', ')}`}`;
  const largest = width === null ? '_sum' : `least(_sum, _max * ${width})`;
  return `(SELECT coalesce(max(${largest}) * least(sum(_n), ${chunkRows}), 0) FROM (${parts}))`;
}

/**
 * The guard for each argument of an aggregate that copies. `isMeasured`: whether its second place is the result of
 * `windowCopiesText`.
 */
export function windowCopiesGuard(name: string, isMeasured: boolean): Guard {
  return isMeasured
    ? {
        isBeyond: (place, sum) => `(${byteLengthSql(place!)} > ${windowValueMax} AND ${sum} > ${windowCopiesMax})`,
        message: `${name} with OVER gets values of more than ${windowCopiesMax} bytes together.`,
      }
    : {
        isBeyond: (place) => `${byteLengthSql(place!)} > ${windowValueMax}`,
        message: `${name} with OVER has a value of more than ${windowValueMax} bytes, which it may have only if it names columns, not aliases or groups of the same SELECT.`,
      };
}

/**
 * The guard for the argument of an aggregate that gathers values. Its second place is the result of
 * `windowResultsText`.
 */
export function windowResultsGuard(name: string): Guard {
  return {
    isBeyond: (_place, bytes) => `${bytes} > ${windowResultsMax}`,
    message: `${name} with OVER makes results that are too long: the results of ${chunkRows} rows would exceed ${windowResultsMax} bytes. Add PARTITION BY, or use a frame of fewer rows.`,
  };
}
