/** The cells of rows by the places of their columns, for writers that need each cell. */
import { decodeString } from '../values/json-text.ts';
import { eachCell } from '../values/row-text.ts';

export class RowCells {
  readonly #places: ReadonlyMap<string, number>;
  /** The places by the keys as rows spell them. Most rows spell them alike. */
  readonly #byKey = new Map<string, number>();
  readonly #tokens: (string | null)[];

  constructor(columns: readonly { readonly id: string }[]) {
    this.#places = new Map(columns.map(({ id }, place) => [id, place]));
    this.#tokens = columns.map(() => null);
  }

  /** The value of each column as JSON; null if the row has none. The values are valid until the next call. */
  read(row: string): readonly (string | null)[] {
    const tokens = this.#tokens.fill(null);
    eachCell(row, (key, token) => {
      const place = this.#byKey.get(key) ?? this.#placeOf(key);
      if (place >= 0 && token !== 'null') tokens[place] = token;
    });
    return tokens;
  }

  #placeOf(key: string): number {
    const place = this.#places.get(decodeString(key)) ?? -1;
    // Bounds the map, because a key can have any number of spellings.
    if (this.#byKey.size <= 2 * this.#places.size) this.#byKey.set(key, place);
    return place;
  }
}

/** Calls `visit` for each row of a text whose rows end in line feeds. */
export function eachRow(rows: Buffer, visit: (row: string) => void): void {
  const text = rows.toString();
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start);
    visit(text.slice(start, end < 0 ? text.length : end));
    start = end < 0 ? text.length : end + 1;
  }
}
