/**
 * The key of a row: its values in the key columns of the table, as filters compare them (docs/spec/queries.md). The
 * keys of two rows have equal texts exactly if `eq` finds the values of each key column equal.
 */
import { scalarTraits, type ColumnType, type ScalarKind } from './column-type.ts';
import { decodeString } from './json-text.ts';
import { eachCell } from './row-text.ts';

/** A column of a key, with its present type. */
export interface KeyColumn {
  readonly id: string;
  /** A scalar type other than `json`. */
  readonly type: ColumnType;
}

export interface RowKey {
  /** Equal for rows with equal keys, and for no others. */
  readonly text: string;
  /** The values as JSON texts, in the order of the columns. */
  readonly tokens: readonly string[];
}

/** Reads the key of a presented row; null if a column of the key is empty. Reuse it for many rows. */
export type KeyReader = (body: string) => RowKey | null;

export function keyReaderOf(columns: readonly KeyColumn[]): KeyReader {
  const places = new Map(columns.map(({ id }, place) => [id, place]));
  const compared = columns.map(({ type }) => scalarTraits[type as ScalarKind].compared);
  /** Places by the column's key as rows spell it. Most rows spell it alike. */
  const known = new Map<string, number>();
  const placeOf = (slice: string): number => {
    let place = known.get(slice);
    if (place === undefined) {
      place = places.get(decodeString(slice)) ?? -1;
      // A slice would keep the text of all rows from which it was cut.
      if (known.size < 10_000) known.set(Buffer.from(slice).toString(), place);
    }
    return place;
  };
  return (body) => {
    const tokens: string[] = [];
    let found = 0;
    eachCell(body, (key, token) => {
      const place = placeOf(key);
      if (place === -1) return;
      tokens[place] = token;
      found += 1;
    });
    if (found < columns.length) return null;
    return { text: JSON.stringify(tokens.map((token, place) => compared[place]!(token))), tokens };
  };
}
