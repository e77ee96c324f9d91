/** What the parser of the engine may be given: it cannot be interrupted, nor held within its memory. */
import { QueryError } from '../language/query-error.ts';

const bytesMax = 64 * 1024;
/** The parser takes time by the square of these. The longest operator has 64. */
const operatorsMax = 200;
/** How many tokens a query may have when what the parser copies is written out. */
const tokensMax = 100_000;

/** Throws QueryError. */
export function checkSql(sql: string): void {
  if (Buffer.byteLength(sql) > bytesMax)
    throw new QueryError('limit_exceeded', `sql: has more than ${bytesMax} bytes.`);
  if (sql.includes('\0')) throw new QueryError('query_invalid', 'sql: has the character U+0000.');
  if (operators.test(sql))
    throw new QueryError(
      'limit_exceeded',
      `sql: has more than ${operatorsMax} characters of operators or comments in sequence, such as "/*" or "--".`,
    );
  if (tokensOf(sql) > tokensMax)
    throw new QueryError(
      'limit_exceeded',
      'sql: has too many parts, where what follows CASE counts for each WHEN, and a named window wherever it is used.',
    );
}

const operators = new RegExp(`[-+*/<>=~!@#%^&|\`?]{${operatorsMax + 1}}`);

/** A text, a quoted name, a comment up to the end of its line, a word, or another character. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\w+|\S/g;

/**
 * The parser writes `CASE a WHEN b THEN c` as `CASE WHEN a = b THEN c`, and a window of WINDOW wherever OVER names it.
 */
function tokensOf(sql: string): number {
  /** The CASE without their END yet; the first is the query. `operand`: the tokens between CASE and its first WHEN. */
  const open = [{ tokens: 0, operand: 0, whens: 0 }];
  let [before, uses, windowsAt] = ['', 0, Infinity];
  let at = 0;
  for (const [written] of sql.matchAll(token)) {
    const word = written.toLowerCase();
    at += 1;
    if (before === 'over' && word !== '(') uses += 1;
    if (word === 'window') windowsAt = Math.min(windowsAt, at);
    if (word === 'case') open.push({ tokens: 0, operand: 0, whens: 0 });
    const innermost = open.at(-1)!;
    innermost.tokens += 1;
    if (word === 'when') {
      if (innermost.whens === 0) innermost.operand = innermost.tokens;
      innermost.whens += 1;
    }
    if (word === 'end' && open.length > 1) {
      open.pop();
      open.at(-1)!.tokens += innermost.tokens + innermost.operand * innermost.whens;
    }
    before = word;
  }
  return open.reduce((sum, { tokens }) => sum + tokens, 0) + uses * Math.max(0, at - windowsAt);
}
