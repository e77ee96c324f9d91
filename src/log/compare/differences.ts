/** The first few differences between two read models, in words. */

/** The comparison ends after this many differences. */
const differencesMax = 20;

/** How many characters of a value are shown. */
const excerptLength = 200;

export interface Difference {
  /** The thing that differs, down to the column: `table 0192... version`. */
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

/** A value of a read model. */
export type ReadModelValue = string | number | bigint | boolean | null | undefined;

export class Differences {
  readonly list: Difference[] = [];

  /** Whether the limit is reached. */
  get full(): boolean {
    return this.list.length >= differencesMax;
  }

  /** `expected` is the value according to the log, `found` the value in the read model; null: missing. */
  add(what: string, expected: ReadModelValue, found: ReadModelValue): void {
    if (this.full) return;
    const [expectedText, foundText] = [textOf(expected), textOf(found)];
    const from = Math.max(0, firstDifference(expectedText, foundText) - excerptLength / 2);
    this.list.push({ what, expected: excerpt(expectedText, from), found: excerpt(foundText, from) });
  }
}

/** A difference as one line. */
export function describeDifference({ what, expected, found }: Difference): string {
  return `${what}: expected ${expected}, found ${found}`;
}

function textOf(value: ReadModelValue): string {
  return value === null || value === undefined ? 'nothing' : String(value);
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

function excerpt(text: string, from: number): string {
  if (text.length <= excerptLength) return text;
  return `${from > 0 ? '…' : ''}${text.slice(from, from + excerptLength)}${from + excerptLength < text.length ? '…' : ''}`;
}
