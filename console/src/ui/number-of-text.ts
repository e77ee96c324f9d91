/** Reads numbers that people type. Every part of the console that makes a number from a text uses this. */

/** A sign, digits in groups of three or without groups, a fraction, an exponent. */
const spelling = /^[+-]?(?:\d{1,3}(?:[\s_]\d{3})+|\d+|(?=\.\d))(?:\.\d*)?(?:e[+-]?\d+)?$/i;

/** Maximum length of a text that a message repeats in full. */
const shownMax = 60;

/**
 * The number in a text. Blanks and underscores may separate groups of three digits. Throws an Error if the text is not
 * a number, or if no double has exactly this value, because another number would be stored.
 */
export function numberOfText(text: string): number {
  const written = text.trim();
  if (!spelling.test(written)) {
    const advice = /^[+-]?[\d.\s]*\d,\d[\d,.]*$/.test(written) ? ' Use a decimal point, and no commas.' : '';
    throw new Error(`${shorten(text)} is not a number.${advice}`);
  }
  const value = Number(written.replaceAll(/[\s_]/g, ''));
  if (!Number.isFinite(value)) throw new Error(`${shorten(text)} is too large for a number.`);
  if (decimalOf(written) !== decimalOf(String(value)))
    throw new Error(`${shorten(text)} cannot be stored exactly as a number: it would become ${value}.`);
  return value;
}

/** A text for a message, cut if it is long. */
export function shorten(text: string): string {
  return text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`;
}

/**
 * Equal for all spellings of a value: its digits from the first to the last nonzero one, and the power of ten of the
 * last one.
 */
function decimalOf(text: string): string {
  const [mantissa, exponent] = text
    .toLowerCase()
    .replaceAll(/[\s_+]/g, '')
    .split('e');
  const [whole, fraction = ''] = mantissa!.replace('-', '').split('.');
  const all = `${whole!}${fraction}`;
  const digits = all.replace(/0+$/, '');
  if (digits.replace(/^0+/, '') === '') return '0';
  const power = Number(exponent ?? 0) - fraction.length + (all.length - digits.length);
  return `${mantissa!.startsWith('-') ? '-' : ''}${digits.replace(/^0+/, '')}e${power}`;
}
