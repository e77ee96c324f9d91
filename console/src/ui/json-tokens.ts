/**
 * JSON whose numbers keep their digits. Tables contain `4.20` and `0.1234567890123456789`, which a double would change.
 */

/** A number with its digits, which `JSON.stringify` writes unchanged. */
interface WrittenNumber {
  readonly rawJSON: string;
}

/** Functions that older browsers lack. */
const json = JSON as typeof JSON & {
  rawJSON?(token: string): WrittenNumber;
  isRawJSON?(value: unknown): value is WrittenNumber;
};

/** Whether numbers keep their digits in this browser. If not, they become doubles. */
export const keepsDigits = json.rawJSON !== undefined;

/** Matches texts with a number whose digits may differ from those of its double. Some strings match, too. */
const mayDiffer = /\d[eE]|\.\d*0(?!\d)|[\d.]{16}|0\.00000|-0/;

/**
 * The value of a JSON text. A number becomes a double only if the double has the same digits; otherwise `numberOf`
 * reads it. Throws SyntaxError.
 */
export function parseJson(text: string): unknown {
  if (json.rawJSON === undefined || !mayDiffer.test(text)) return JSON.parse(text);
  const keep = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? json.rawJSON!(source) : value;
  return JSON.parse(text, keep);
}

/** The double of a number that `parseJson` returned; null for anything else. */
export function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return json.isRawJSON?.(value) === true ? Number(value.rawJSON) : null;
}
