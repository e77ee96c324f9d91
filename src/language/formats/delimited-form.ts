/**
 * The forms of CSV and TSV that a person can name: how lines and cells are written, and what their texts mean
 * (docs/spec/decisions.md 2, "Forms of CSV and TSV").
 */
import { isArrayType, itemKind, type ColumnType } from '../values/column-type.ts';
import type { DateFormat } from '../values/date-format.ts';

/** Lines before the header are at most so many. */
export const skipLinesMax = 1_000_000;

/**
 * How a person said that a file is written. RFC 4180 applies where a member is absent. Each member has the name of a
 * query parameter.
 */
export interface DelimitedForm {
  /** `absent`: the first line is a row, and columns are `column_1`, `column_2` and so on. */
  readonly header?: 'present' | 'absent';
  /** The one character between cells. If absent, the media type says it, or a first line such as `sep=;`. */
  readonly delimiter?: string;
  /** The one character around cells, or `none`: no character is special. If absent, `"`. */
  readonly quote?: string;
  /** The one character before a quote within a quoted cell. If absent, a quote is doubled. */
  readonly escape?: string;
  /** Whether a quote inside an unquoted cell is text. */
  readonly lenient?: boolean;
  /** How many lines come before the header. */
  readonly skipLines?: number;
  /** The one character that lines begin with which are no records. */
  readonly comment?: string;
  /** `rename`: of columns with one name, the second becomes `<name>_2`. If absent, they are refused. */
  readonly duplicateColumns?: 'rename';
  /** Unquoted cells with exactly these texts are empty. */
  readonly null?: readonly string[];
  /** The mark before the fraction of numbers. If absent, a point. */
  readonly decimal?: '.' | ',';
  readonly dateFormat?: DateFormat;
  /** Types of some columns, by their IDs. Those of the others are inferred. */
  readonly types?: Readonly<Record<string, ColumnType>>;
  /** The ID of the column that a column of the file goes to, by its name in the file. */
  readonly columns?: Readonly<Record<string, string>>;
}

/** The form as query parameters, by name; what is absent is left out. */
export function formParameters(form: DelimitedForm): Record<string, string> {
  const texts = Object.entries(form).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    if (value === undefined || value === false) return [];
    if (Array.isArray(value)) return [[name, value.join(',')]];
    if (name === 'types')
      return [
        [
          name,
          JSON.stringify(Object.fromEntries(Object.entries(form.types!).map(([id, type]) => [id, spelledType(type)]))),
        ],
      ];
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
  return Object.fromEntries(texts);
}

/** A type as requests write it. */
function spelledType(type: ColumnType): unknown {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}
