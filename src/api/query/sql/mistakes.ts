/** Messages for mistakes in SQL: DuckDB's messages with the names of the query, and suggestions. */
import { decodeNames } from './names.ts';

/** Limit of a message, in characters. */
const lengthMax = 1000;

/** Shortens a message that quotes too much of a query. */
export function shorten(message: string): string {
  return message.length <= lengthMax ? message : `${message.slice(0, lengthMax)}...`;
}

/** A suggestion for an unknown name: the known name that differs from it only in case. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const meant = [...names].find((other) => other.toLowerCase() === name.toLowerCase());
  return meant === undefined ? '.' : `: did you mean ${JSON.stringify(meant)}?`;
}

/** Better messages for patterns of DuckDB's messages. `columns` are the column names of the query's tables. */
const rules: readonly (readonly [
  RegExp,
  (match: RegExpMatchArray, message: string, sql: string, columns: ReadonlySet<string>) => string,
])[] = [
  [/^Only SELECT/, () => 'Only SELECT is allowed.'],
  [/^errhint NOT IMPLEMENTED/, () => 'Write LIMIT 20 OFFSET 10 instead of LIMIT 10, 20.'],
  [/^Max expression depth|^memory exhausted/, () => 'The query is nested too deep.'],
  [/^unterminated quoted string/, (_match, message) => `${message}. Write a quote within a text twice: 'it''s'.`],
  [
    /^syntax error at or near "(\w+)"/,
    ([, word], message, sql) => {
      if (/\bselect\s+top\s+\d/i.test(sql)) return `${message}. Write LIMIT 10 at the end instead of TOP 10.`;
      return /^[a-z]\w*$/i.test(word!)
        ? `${message}. If a column is named like a keyword, quote it: "order".`
        : message;
    },
  ],
  [
    /^Binder Error: Referenced column "(.+?)" (?:not found|was not found)/,
    ([, name], message, sql, columns) => {
      const meant = didYouMean(name!, columns);
      if (meant !== '.') return `There is no column ${JSON.stringify(name)}${meant}`;
      if (sql.includes(`${name}.`)) return `There is no table or column ${JSON.stringify(name)} in FROM.`;
      return sql.includes(JSON.stringify(name))
        ? `${message}\nPut texts in single quotes and names in double quotes.`
        : message;
    },
  ],
  [
    /^Binder Error: (?:Values list|Table) "(.+?)" does not have a column named "(.+?)"/,
    ([, table, name], _message, _sql, columns) => {
      return `The table ${JSON.stringify(table)} has no column ${JSON.stringify(name)}${didYouMean(name!, columns)}`;
    },
  ],
  [
    /^Binder Error: Could not find key .* in struct/,
    () =>
      'The row has no such member. If its name has other characters than lowercase letters, digits and _, read it with a dot: (a)."Name".',
  ],
  [
    /^Binder Error: No function matches .*'struct_extract\(JSON/,
    () => "Read a member of JSON with an arrow: a->'Name', or a->>'Name' as a text.",
  ],
  [
    /^Catalog Error: Scalar Function with name "?(\w+)"? does not exist/,
    ([, name]) => `${name} is a window function: it needs OVER (...).`,
  ],
];

/** The message to the client for a message of the engine. */
export function messageOf(given: string, sql: string, columns: ReadonlySet<string> = new Set()): string {
  // Drop the rest, which quotes the compiled text.
  const message = decodeNames(given.split('\n\n')[0]!);
  for (const [pattern, say] of rules) {
    const match = message.match(pattern);
    if (match !== null) return say(match, message, sql, columns);
  }
  return message;
}

/** The names of functions in other databases, and in DuckDB. */
const names: ReadonlyMap<string, string> = new Map([
  ['adddate', 'date_add'],
  ['char', 'chr'],
  ['charindex', 'instr'],
  ['collect_list', 'array_agg'],
  ['curdate', 'today'],
  ['date_format', 'strftime'],
  ['dateadd', 'date_add'],
  ['from_unixtime', 'to_timestamp'],
  ['getdate', 'now'],
  ['iif', 'CASE'],
  ['isnull', 'coalesce'],
  ['json_extract_scalar', 'json_extract_string'],
  ['jsonb_extract_path', 'json_extract'],
  ['locate', 'instr'],
  ['nvl', 'coalesce'],
  ['percentile_cont', 'quantile_cont'],
  ['percentile_disc', 'quantile_disc'],
  ['rand', 'random'],
  ['regexp_like', 'regexp_matches'],
  ['regexp_substr', 'regexp_extract'],
  ['str_to_date', 'strptime'],
  ['substring_index', 'split_part'],
  ['sysdate', 'now'],
  ['to_char', 'strftime'],
  ['to_date', 'strptime'],
  ['to_number', 'CAST'],
  ['unix_timestamp', 'epoch'],
]);

/** The message for a function that is unknown or not allowed. */
export function noFunction(name: string): string {
  if (name.endsWith('__postfix'))
    return name.startsWith('`')
      ? 'Put names in double quotes, not in backticks.'
      : `There is no operator ${name.slice(0, -'__postfix'.length)}.`;
  const other = names.get(name.toLowerCase());
  return other === undefined
    ? `There is no function ${name}, or it is not allowed here.`
    : `There is no function ${name}: use ${other}.`;
}
