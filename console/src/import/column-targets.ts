/** Which column of a file goes into which column of a table. */
import { titleOf, type Column } from '../tables/column-types.ts';

/** By name in the file: the ID of a column of the table, or of a new one. */
export type Targets = Readonly<Record<string, string>>;

/** Where each column goes: as somebody chose; else into the column with this ID, else into the one that is shown under this name, else into a new one. */
export function targetsOf(names: readonly string[], columns: readonly Column[], chosen: Targets): Targets {
  const ids = new Set(columns.map(({ id }) => id));
  const taken = new Set(names.map((name) => chosen[name] ?? name).filter((id) => ids.has(id)));
  return Object.fromEntries(names.map((name) => {
    if (Object.hasOwn(chosen, name)) return [name, chosen[name]!];
    if (ids.has(name)) return [name, name];
    const titled = columns.filter((column) => titleOf(column) === name && !taken.has(column.id));
    return [name, titled.length === 1 ? titled[0]!.id : name];
  }));
}

/** The targets that differ from the names; undefined if none does. */
export function columnsOfTargets(targets: Targets): Targets | undefined {
  const renamed = Object.entries(targets).filter(([name, id]) => name !== id);
  return renamed.length === 0 ? undefined : Object.fromEntries(renamed);
}

/** Why these targets cannot be; null if they can. */
export function problemOfTargets(targets: Targets, columns: readonly Column[]): string | null {
  const seen = new Map<string, string>();
  for (const [name, id] of Object.entries(targets)) {
    const other = seen.get(id);
    if (other !== undefined) return `${other} and ${name} cannot both go into ${titleOf(columns.find((column) => column.id === id) ?? { id, type: 'string' })}.`;
    seen.set(id, name);
  }
  return null;
}
