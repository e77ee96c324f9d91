/** Cells as text: what is shown, copied and typed. */

/** A value as text. Empty cells are the empty text. */
export function textOfCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What was typed, or pasted, as a value of a column of this type; null empties the cell. Throws an error that says what is wrong. */
export function cellOfText(type: string, text: string): unknown {
  if (text === '') return null;
  if (type.startsWith('array<')) {
    const value = parse(text);
    if (!Array.isArray(value)) throw new Error(`${text} is not a list. Write it in square brackets, such as ["a", "b"].`);
    return value;
  }
  switch (type) {
    case 'number': {
      const value = Number(text.replaceAll(/[\s_]/g, ''));
      if (!Number.isFinite(value)) throw new Error(`${text} is not a number.`);
      return value;
    }
    case 'boolean': {
      if (!/^(true|false)$/i.test(text)) throw new Error(`${text} is neither true nor false.`);
      return text.toLowerCase() === 'true';
    }
    case 'json': return parse(text);
    default: return text;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${text} is not valid JSON.`, { cause: error });
  }
}

/** Whether two values of cells are the same, whatever the order of keys. */
export function isSameCell(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one ?? null)) === JSON.stringify(sorted(other ?? null));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, member]) => [key, sorted(member)]));
}

/** The address of a link, if it can be followed without harm. */
export function linkOf(type: string, text: string): string | null {
  if (type === 'emailAddress') return `mailto:${encodeURIComponent(text)}`;
  if (type === 'phoneNumber') return `tel:${text.replaceAll(/[^\d+]/g, '')}`;
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol) ? text : null;
}
