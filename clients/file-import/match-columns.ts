/** Which columns of a table the names in a header mean. */
import { rowIdKey } from '../../src/language/formats/row-id-key.ts';

/** A column as the table describes it. */
export interface NamedColumn {
  readonly id: string;
  readonly displayName?: string | undefined;
}

interface MatchedColumns {
  /** The ID of the column that a name means, by name; without names that mean themselves. */
  readonly columns: Readonly<Record<string, string>>;
  /** Those of them that are display names. */
  readonly byDisplayName: readonly string[];
}

/**
 * A name is an ID; else an ID in another normal form of Unicode; else a display name that one column alone has, unless
 * another name means that column. A name that means no column stays as it is.
 */
export function matchColumns(names: readonly string[], table: readonly NamedColumn[]): MatchedColumns {
  const ids = new Set(table.map(({ id }) => id));
  // Where several IDs differ in their normal form only, another form of the name means that in NFC, else the first.
  const alike = new Map(table.toReversed().map(({ id }) => [id.normalize('NFC'), id]));
  for (const id of ids) if (id.normalize('NFC') === id) alike.set(id, id);
  const columns = Object.create(null) as Record<string, string>;
  const taken = new Set<string>();
  const open: string[] = [];
  for (const name of names) {
    const id = ids.has(name) ? name : alike.get(name.normalize('NFC'));
    if (id === undefined) {
      open.push(name);
      continue;
    }
    taken.add(id);
    // In a chunk, which knows no table, a name means itself in NFC.
    if (name.normalize('NFC') !== id) columns[name] = id;
  }
  const byDisplayName = open.filter((name) => {
    const shown =
      name === '' || name === rowIdKey
        ? []
        : table.filter(
            ({ id, displayName }) => displayName !== undefined && sameText(displayName, name) && !taken.has(id),
          );
    if (shown.length !== 1) return false;
    columns[name] = shown[0]!.id;
    return true;
  });
  return { columns, byDisplayName };
}

function sameText(a: string, b: string): boolean {
  return a.normalize('NFC') === b.normalize('NFC');
}
