/** Matches the names in a header to the columns of a table. */
import { rowIdKey } from '../../src/language/formats/row-id-key.ts';

/** A column of a table. */
export interface NamedColumn {
  readonly id: string;
  readonly displayName?: string | undefined;
}

interface MatchedColumns {
  /** Column IDs by name. Names that equal their ID are left out. */
  readonly columns: Readonly<Record<string, string>>;
  /** The names that are display names. */
  readonly byDisplayName: readonly string[];
}

/**
 * A name means the column with this ID; otherwise the column whose ID is the same in another normal form of Unicode;
 * otherwise the only column with this display name, unless another name means that column. Any other name stays as it
 * is.
 */
export function matchColumns(names: readonly string[], table: readonly NamedColumn[]): MatchedColumns {
  const ids = new Set(table.map(({ id }) => id));
  // If several IDs differ only in their normal form, another form of the name means the ID in NFC, otherwise the first
  // one.
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
    // The reader of a chunk knows no table: there, a name means the ID that equals its NFC.
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
