/** Finds the keys of rows. Rows are much alike, so each key is compared with the key that followed in earlier rows. */
import { skipBlankBytes, stringEndInBytes } from '../values/json-bytes.ts';
import { decodeString } from '../values/json-text.ts';

/** How many columns a row may skip before the next key is looked up. */
const missingMax = 4;

/** A key of rows. */
export interface Key {
  /** The key's usual encoding, with its colon: its bytes, their number, and the last four of them. */
  readonly words: DataView;
  readonly length: number;
  readonly lastWord: number;
  /** The place of its cells in a line; -1 if they are not written. */
  readonly place: number;
  readonly isJson: boolean;
  /** The key that is expected after it, because rows are much alike. */
  next: Key | null;
}

/** A column to find. */
interface KeyColumn {
  readonly id: string;
  readonly isJson: boolean;
}

export class RowKeys {
  /** All keys that rows have had, by column ID. */
  readonly #keys = new Map<string, Key>();
  readonly beforeFirst = keyOf({ id: '', isJson: false }, -1);
  /** The beginning of the value after the key that was found last. Blanks may precede the value. */
  valueStart = 0;

  constructor(columns: readonly KeyColumn[]) {
    let last = this.beforeFirst;
    for (const [place, column] of columns.entries()) {
      last = last.next = keyOf(column, place);
      this.#keys.set(column.id, last);
    }
  }

  /** The key at an index, after another key of its row. Sets `valueStart`. */
  at(rows: Buffer, words: DataView, at: number, previous: Key): Key {
    let key = previous.next;
    for (let missing = 0; key !== null && missing <= missingMax; missing += 1) {
      if (isAt(words, at, key)) {
        this.valueStart = at + key.length;
        return key;
      }
      key = key.next;
    }
    const end = stringEndInBytes(rows, at);
    this.valueStart = skipBlankBytes(rows, end) + 1;
    const id = decodeString(rows.toString('utf8', at, end));
    const found = this.#keys.get(id) ?? keyOf({ id, isJson: false }, -1);
    this.#keys.set(id, found);
    previous.next = found;
    return found;
  }
}

function keyOf({ id, isJson }: KeyColumn, place: number): Key {
  const words = wordsOf(Buffer.from(`${JSON.stringify(id)}:`));
  const length = words.byteLength;
  return { words, length, lastWord: length < 4 ? 0 : words.getInt32(length - 4, true), place, isJson, next: null };
}

/** The bytes, to be read four at a time. */
export function wordsOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Whether a key is at an index. A key has at least four bytes: two quotes, a byte and the colon. */
function isAt(words: DataView, start: number, { words: key, length, lastWord }: Key): boolean {
  const last = length - 4;
  if (last < 0 || start + length > words.byteLength || words.getInt32(start + last, true) !== lastWord) return false;
  for (let at = 0; at < last; at += 4) if (words.getInt32(start + at, true) !== key.getInt32(at, true)) return false;
  return true;
}
