/**
 * LIKE with a pattern that is a literal. DuckDB matches most patterns by trying each place for each `%`, which takes
 * the length of the text to the power of the number of `%`. So patterns with several `%` are written in a way that
 * takes one pass.
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
 * The match of a text with a pattern that has several `%`, in one pass; null if DuckDB matches it in one pass as it
 * stands. Throws QueryError.
 */
export function likeText(name: string, text: string, pattern: string, escape: string | undefined): string | null {
  const like = likes.get(name);
  if (
    like === undefined ||
    wildcardsIn(pattern, '%') <= 1 ||
    (like.hasEscape && (escape === undefined || [...escape].length > 1))
  )
    return null;
  // DuckDB itself takes one pass if the case counts, and there is no `_` and no escape.
  const isSimple = !like.hasEscape && !pattern.includes('_');
  if (isSimple && !like.ignoresCase) return null;
  const inCase = (value: string): string => (like.ignoresCase ? `lower(${value})` : value);
  if (isSimple) return `"${like.isNegated ? '!~~' : '~~'}"(${inCase(text)}, ${inCase(quoteText(pattern))})`;
  const match = `regexp_full_match(${inCase(text)}, ${inCase(quoteText(expressionOf(pattern, escape ?? '')))}, 's')`;
  return like.isNegated ? `(NOT ${match})` : match;
}

/**
 * A pattern as a regular expression. The expression has no letters but those of the pattern, so it may be put in small
 * letters.
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
