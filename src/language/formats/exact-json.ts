/** JSON whose numbers keep their digits: `4.20` in a filter is not `4.2`, and no integer is rounded. */

/** Members of JSON that TypeScript's library does not declare yet. */
const exact = JSON as unknown as {
  readonly rawJSON: (text: string) => unknown;
  readonly isRawJSON: (value: unknown) => boolean;
};

function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  return String(value) === context.source ? value : exact.rawJSON(context.source);
}

/**
 * Parses JSON. A number that JavaScript would write with other digits becomes an object that only JSON.stringify can
 * read, and that it writes with the given digits. Throws SyntaxError.
 */
export function parseExactly(json: string): unknown {
  return JSON.parse(json, asWritten);
}

/** The digits of a number from `parseExactly`; null for any other value. */
export function numberToken(value: unknown): string | null {
  return typeof value === 'number' || exact.isRawJSON(value) ? JSON.stringify(value) : null;
}
