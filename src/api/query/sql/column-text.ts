/** SQL for columns, and for members of rows. */
import { encodeName, quoteName } from './names.ts';
import { list, take, text, type SqlNode } from './node.ts';
import type { Scope } from './scope.ts';

/** Functions that standard SQL writes without parentheses. */
const moments: ReadonlyMap<string, string> = new Map([
  ['CURRENT_DATE', 'current_date'],
  ['CURRENT_TIMESTAMP', 'current_timestamp'],
  ['LOCALTIMESTAMP', 'localtimestamp'],
]);

/** The SQL of a column, or of a function without parentheses. `names` come from `namesOf`. */
export function columnText(names: readonly string[], scope: Scope): string {
  const moment = names.length === 1 ? moments.get(names[0]!.toUpperCase()) : undefined;
  if (moment !== undefined) return moment;
  const at = scope.hasRelation(names[0]!) ? 2 : 1;
  const [column, members] = [names.slice(0, at).map(quoteName).join('.'), names.slice(at)];
  // After a dot the engine would also look into JSON, where names are not encoded.
  return members.every((name) => encodeName(name) === name)
    ? [column, ...members.map(quoteName)].join('.')
    : members.reduce(memberText, column);
}

/** The SQL of a member of a row. */
export function memberText(row: string, name: string): string {
  return `struct_extract(${row}, '${encodeName(name)}')`;
}

/** The names in a column reference: perhaps a table, the column, and perhaps members. */
export function namesOf(column: SqlNode): readonly string[] {
  return list(take(column, 'column_names').column_names).map(text);
}
