/**
 * The forms of CSV and TSV that a person can state: how lines and cells are written, and the meaning of their texts
 * (docs/spec/decisions.md 2, "Forms of CSV and TSV").
 */
import { isArrayType, itemKind, type ColumnType } from '../values/column-type.ts';
import type { DateFormat } from '../values/date-format.ts';

/** Maximum of lines before the header. */
export const skipLinesMax = 1_000_000;

/**
 * The form of a file, as the person states it. If a member is absent, RFC 4180 applies. Each member has the name of a
 * query parameter.
 */
export interface DelimitedForm {
  /** `absent`: the first line is a row, and columns are `column_1`, `column_2` and so on. */
  readonly header?: 'present' | 'absent';
  /** The character between cells. If absent, the media type determines it, or a first line such as `sep=;`. */
  readonly delimiter?: string;
  /** The character around cells, or `none`: no character is special. If absent, `"`. */
  readonly quote?: string;
  /** The character before a quote within a quoted cell. If absent, a quote is doubled. */
  readonly escape?: string;
  /** Whether a quote inside an unquoted cell is text. */
  readonly lenient?: boolean;
  /** How many lines come before the header. */
  readonly skipLines?: number;
  /** Lines that begin with this character are ignored. */
  readonly comment?: string;
  /** `rename`: if a name occurs twice, the second column becomes `<name>_2`. If absent, such a header is refused. */
  readonly duplicateColumns?: 'rename';
  /** Unquoted cells with exactly these texts are empty. */
  readonly null?: readonly string[];
  /** The decimal separator of numbers. If absent, a point. */
  readonly decimal?: '.' | ',';
  readonly dateFormat?: DateFormat;
  /** Types of some columns, by their IDs. The types of other columns are inferred. */
  readonly types?: Readonly<Record<string, ColumnType>>;
  /** IDs of columns in the table, by the column's name in the file. */
  readonly columns?: Readonly<Record<string, string>>;
}

/** The form as query parameters, by name. Absent members are left out. */
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

/** A type in the spelling of requests. */
function spelledType(type: ColumnType): unknown {
  return isArrayType(type) ? { kind: 'array', items: { kind: itemKind(type) } } : type;
}
