/**
 * An array parameter of numbers, identifiers or other values without quotes, backslashes, blanks and commas. The driver
 * would escape each element as if it could be any text, which costs more than the rest of the parameter.
 */
export function arrayText(values: readonly (bigint | number | string | boolean | null)[]): string {
  let text = '{';
  for (const value of values) text += `${text.length > 1 ? ',' : ''}${value ?? 'NULL'}`;
  return `${text}}`;
}
