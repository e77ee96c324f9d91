/** Limits on SQL before DuckDB parses it. Parsing cannot be interrupted and ignores `memory_limit`. */
import { QueryError } from '../language/query-error.ts';

const bytesMax = 64 * 1024;
/** Parse time is quadratic in the length of an operator. The longest operator has 64 characters. */
const operatorsMax = 200;
/** Limit of the tokens of a query, counting each copy that the parser makes. */
const tokensMax = 100_000;

/** Throws QueryError if the SQL exceeds a limit. */
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
      'sql: has too many parts. The operand of CASE counts once for each WHEN, and a named window once for each use.',
    );
}

const operators = new RegExp(`[-+*/<>=~!@#%^&|\`?]{${operatorsMax + 1}}`);

/** Matches a text, a quoted name, a comment up to the end of its line, a word, or another character. */
const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\w+|\S/g;

/**
 * Counts the tokens with copies. The parser rewrites `CASE a WHEN b THEN c` to `CASE WHEN a = b THEN c`, and copies a
 * named window to each OVER that uses it.
 */
function tokensOf(sql: string): number {
  /**
   * The open CASE expressions; the first entry is the query. `operand` counts the tokens between CASE and its first
   * WHEN.
   */
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
