/**
 * LIKE with a literal pattern. DuckDB matches most patterns by trying each position for each `%`, so the steps are the
 * length of the text to the power of the number of `%`. Patterns with several `%` are compiled to a form that takes one
 * pass.
 */
import { QueryError } from '../language/query-error.ts';
import { wildcardsIn } from './function-bounds.ts';
import { quoteText } from './literals.ts';

interface Like {
  readonly isNegated: boolean;
  readonly ignoresCase: boolean;
  /** Whether the third argument is the escape character. */
  readonly hasEscape: boolean;
}

const likes: ReadonlyMap<string, Like> = new Map([
  ['~~', { isNegated: false, ignoresCase: false, hasEscape: false }],
  ['!~~', { isNegated: true, ignoresCase: false, hasEscape: false }],
  ['~~*', { isNegated: false, ignoresCase: true, hasEscape: false }],
  ['!~~*', { isNegated: true, ignoresCase: true, hasEscape: false }],
  ['like_escape', { isNegated: false, ignoresCase: false, hasEscape: true }],
  ['not_like_escape', { isNegated: true, ignoresCase: false, hasEscape: true }],
  ['ilike_escape', { isNegated: false, ignoresCase: true, hasEscape: true }],
  ['not_ilike_escape', { isNegated: true, ignoresCase: true, hasEscape: true }],
]);

/**
 * The SQL that matches a text with a pattern in one pass; null if DuckDB needs only one pass for the original form.
 * Throws QueryError.
 */
export function likeText(name: string, text: string, pattern: string, escape: string | undefined): string | null {
  const like = likes.get(name);
  if (
    like === undefined ||
    wildcardsIn(pattern, '%') <= 1 ||
    (like.hasEscape && (escape === undefined || [...escape].length > 1))
  )
    return null;
  // DuckDB itself takes one pass if the match is case-sensitive, without `_` and without an escape.
  const isSimple = !like.hasEscape && !pattern.includes('_');
  if (isSimple && !like.ignoresCase) return null;
  const inCase = (value: string): string => (like.ignoresCase ? `lower(${value})` : value);
  if (isSimple) return `"${like.isNegated ? '!~~' : '~~'}"(${inCase(text)}, ${inCase(quoteText(pattern))})`;
  const match = `regexp_full_match(${inCase(text)}, ${inCase(quoteText(expressionOf(pattern, escape ?? '')))}, 's')`;
  return like.isNegated ? `(NOT ${match})` : match;
}

/**
 * Converts a pattern to a regular expression. The expression adds no letters to those of the pattern, so it can be
 * lowercased.
 */
function expressionOf(pattern: string, escape: string): string {
  const characters = [...pattern];
  let expression = '';
  for (let at = 0; at < characters.length; at += 1) {
    const isEscaped = characters[at] === escape;
    if (isEscaped) at += 1;
    const character = characters[at];
    if (character === undefined)
      throw new QueryError('query_invalid', 'The pattern of LIKE ends with its escape character.');
    if (!isEscaped && character === '%') expression += '.*';
    else if (!isEscaped && character === '_') expression += '.';
    else expression += /^[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]$/.test(character) ? `\\${character}` : character;
  }
  return expression;
}
