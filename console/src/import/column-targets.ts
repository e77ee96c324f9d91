/** Matches the columns of a file to the columns of a table. */
import { matchColumns } from '../../../clients/file-import/match-columns.ts';
import { titleOf, type Column } from '../tables/column-types.ts';

/** By the name in the file: the ID of an existing or a new column of the table. */
export type Targets = Readonly<Record<string, string>>;

/** The target of each column: the chosen one; otherwise the column that its name means; otherwise a new column. */
export function targetsOf(names: readonly string[], columns: readonly Column[], chosen: Targets): Targets {
  const open = names.filter((name) => !Object.hasOwn(chosen, name));
  const taken = new Set(names.filter((name) => Object.hasOwn(chosen, name)).map((name) => chosen[name]));
  const { columns: meant } = matchColumns(
    open,
    columns.filter(({ id }) => !taken.has(id)),
  );
  return Object.fromEntries(
    names.map((name) => [name, Object.hasOwn(chosen, name) ? chosen[name]! : (meant[name] ?? name)]),
  );
}

/** The targets that differ from the meaning of the names; undefined if none does. */
export function columnsOfTargets(targets: Targets): Targets | undefined {
  const renamed = Object.entries(targets).filter(([name, id]) => name.normalize('NFC') !== id);
  return renamed.length === 0 ? undefined : Object.fromEntries(renamed);
}

/** What is wrong with these targets; null if nothing is wrong. */
export function problemOfTargets(targets: Targets, columns: readonly Column[]): string | null {
  const seen = new Map<string, string>();
  const inForms = Map.groupBy(columns, ({ id }) => id.normalize('NFC'));
  for (const [name, id] of Object.entries(targets)) {
    const other = seen.get(id);
    if (other !== undefined)
      return `${other} and ${name} cannot both go into ${titleOf(columns.find((column) => column.id === id) ?? { id, type: 'string' })}.`;
    // It is unknown which of them the file names, because the page shows the name in NFC.
    if ((inForms.get(id.normalize('NFC'))?.length ?? 0) > 1)
      return `The table has more than one column ${id}, in several normal forms of Unicode. Import with tablog import.`;
    seen.set(id, name);
  }
  return null;
}
