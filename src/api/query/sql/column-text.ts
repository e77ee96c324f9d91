/** Columns of a SELECT, and the members of their rows. */
import { encodeName, quoteName } from './names.ts';
import { list, take, text, type SqlNode } from './node.ts';
import type { Scope } from './scope.ts';

/** What standard SQL writes without parentheses. */
const moments: ReadonlyMap<string, string> = new Map([
  ['CURRENT_DATE', 'current_date'],
  ['CURRENT_TIMESTAMP', 'current_timestamp'],
  ['LOCALTIMESTAMP', 'localtimestamp'],
]);

/** A column in SQL, or what its name stands for. `names`: of `namesOf`. */
export function columnText(names: readonly string[], scope: Scope): string {
  const moment = names.length === 1 ? moments.get(names[0]!.toUpperCase()) : undefined;
  if (moment !== undefined) return moment;
  const at = scope.hasRelation(names[0]!) ? 2 : 1;
  const [column, members] = [names.slice(0, at).map(quoteName).join('.'), names.slice(at)];
  // After a dot the engine would look in JSON, too, where names are not encoded.
  return members.every((name) => encodeName(name) === name)
    ? [column, ...members.map(quoteName)].join('.')
    : members.reduce(memberText, column);
}

/** A member of a row. */
export function memberText(row: string, name: string): string {
  return `struct_extract(${row}, '${encodeName(name)}')`;
}

/** The names of a column, and of its table before it or members after it. */
export function namesOf(column: SqlNode): readonly string[] {
  return list(take(column, 'column_names').column_names).map(text);
}
