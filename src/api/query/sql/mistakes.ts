/** Messages for mistakes in SQL: those of DuckDB, in the names of the query, with a suggestion where there is one. */
import { decodeNames } from './names.ts';

/** The most characters of a message. */
const lengthMax = 1000;

/** A message that shows no more of a query than helps. */
export function shorten(message: string): string {
  return message.length <= lengthMax ? message : `${message.slice(0, lengthMax)}...`;
}

/** A suggestion for an unknown name: the known name that differs from it only in case. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const meant = [...names].find((other) => other.toLowerCase() === name.toLowerCase());
  return meant === undefined ? '.' : `: did you mean ${JSON.stringify(meant)}?`;
}

/** A better message for each pattern of DuckDB's messages. `columns`: the names in the tables of the query. */
const rules: readonly (readonly [
  RegExp,
  (match: RegExpMatchArray, message: string, sql: string, columns: ReadonlySet<string>) => string,
])[] = [
  [/^Only SELECT/, () => 'Only a SELECT can be asked.'],
  [/^errhint NOT IMPLEMENTED/, () => 'LIMIT 10, 20 is written LIMIT 20 OFFSET 10.'],
  [/^Max expression depth|^memory exhausted/, () => 'The query is nested too deep.'],
  [/^unterminated quoted string/, (_match, message) => `${message}. A quote within a text is written twice: 'it''s'.`],
  [
    /^syntax error at or near "(\w+)"/,
    ([, word], message, sql) => {
      if (/\bselect\s+top\s+\d/i.test(sql)) return `${message}. TOP 10 is written LIMIT 10, at the end.`;
      return /^[a-z]\w*$/i.test(word!)
        ? `${message}. A word of SQL that is meant as a name stands in double quotes.`
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
        ? `${message}\nA text stands in single quotes, a name in double quotes.`
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
      'The row has no such member. One whose name has more than small letters, digits and _ is read by a dot: (a)."Name".',
  ],
  [
    /^Binder Error: No function matches .*'struct_extract\(JSON/,
    () => "A member of JSON is read by an arrow: a->'Name', or a->>'Name' as a text.",
  ],
  [
    /^Catalog Error: Scalar Function with name "?(\w+)"? does not exist/,
    ([, name]) => `The function ${name} is one of windows: it needs OVER (...).`,
  ],
];

/** The message for one of the engine. */
export function messageOf(given: string, sql: string, columns: ReadonlySet<string> = new Set()): string {
  // What follows shows the text of the engine.
  const message = decodeNames(given.split('\n\n')[0]!);
  for (const [pattern, say] of rules) {
    const match = message.match(pattern);
    if (match !== null) return say(match, message, sql, columns);
  }
  return message;
}

/** What functions of other databases are called here. */
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

/** What is said of a function that cannot be called. */
export function noFunction(name: string): string {
  if (name.endsWith('__postfix'))
    return name.startsWith('`')
      ? 'A name stands in double quotes, not in backticks.'
      : `There is no operator ${name.slice(0, -'__postfix'.length)}.`;
  const other = names.get(name.toLowerCase());
  return other === undefined
    ? `There is no function ${name}, or it is not possible here.`
    : `There is no function ${name}: use ${other}.`;
}
