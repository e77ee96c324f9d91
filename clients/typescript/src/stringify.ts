/**
 * The JSON of a value. Throws TypeError for NaN and Infinity, which JSON does not have. (`JSON.stringify` turns them
 * into null, which would empty their cells.)
 */
export function stringify(value: unknown): string {
  const text = JSON.stringify(value);
  // NaN and Infinity would be null in the text. Checking each value costs much more than making the text.
  if (text.includes('null')) JSON.stringify(value, refuseNotFinite);
  return text;
}

function refuseNotFinite(key: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`${JSON.stringify(key)} is ${value}, which is not a number in JSON`);
  return value;
}
