/**
 * The JSON text of a value. Throws TypeError for NaN and Infinity, which JSON has not: `JSON.stringify` makes them
 * null, which would empty their cells.
 */
export function stringify(value: unknown): string {
  const text = JSON.stringify(value);
  // NaN and Infinity have become null in the text. Looking at each value costs much more than making the text.
  if (text.includes('null')) JSON.stringify(value, refuseNotFinite);
  return text;
}

function refuseNotFinite(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`${JSON.stringify(key)} is ${value}, which is no number in JSON`);
  return value;
}
