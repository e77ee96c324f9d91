/**
 * JSON whose numbers keep their digits: a table has `4.20` and `0.1234567890123456789` as they were written, of which a
 * double is another text or another number.
 */

/** A number as it is written: `JSON.stringify` writes it so again. */
interface WrittenNumber {
  readonly rawJSON: string;
}

/** What older browsers do not have. */
const json = JSON as typeof JSON & {
  rawJSON?(token: string): WrittenNumber;
  isRawJSON?(value: unknown): value is WrittenNumber;
};

/** Whether numbers keep their digits here; else they become doubles. */
export const keepsDigits = json.rawJSON !== undefined;

/** Where a number might have another text than its double has; some strings look so, too. */
const mayDiffer = /\d[eE]|\.\d*0(?!\d)|[\d.]{16}|0\.00000|-0/;

/**
 * The value of a JSON text, in which a number is one only if that is written as this is; else what `numberOf` knows.
 * Throws SyntaxError.
 */
export function parseJson(text: string): unknown {
  if (json.rawJSON === undefined || !mayDiffer.test(text)) return JSON.parse(text);
  const keep = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? json.rawJSON!(source) : value;
  return JSON.parse(text, keep);
}

/** The double of a number that `parseJson` made; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return json.isRawJSON?.(value) === true ? Number(value.rawJSON) : null;
}
