/** The changes of keys when rows are patched or deleted. */
import { presentersOf } from '../../../src/language/values/presentation.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import { keyReaderOf } from '../../../src/language/values/row-key.ts';
import type { StoredRow, Table } from '../table.ts';
import type { TablesState } from '../tables.state.ts';
import type { KeysChange } from './key-changes.ts';
import type { KeysState } from './keys.state.ts';
import { keyNotUnique } from './keys-of-rows.ts';
import { keyOf, shownKey, type TableKey } from './table-key.ts';

/** A row that is patched: its presented bodies. */
interface PatchedRow {
  readonly before: string;
  readonly after: string;
  readonly rowId: string;
}

/** The row gives up its key and takes the new one. If another row has the new key, the patch is refused. */
export function keysOfPatchedRow(
  keys: KeysState,
  key: TableKey | null,
  { extent, index }: StoredRow,
  { before, after, rowId }: PatchedRow,
): { readonly changes: readonly KeysChange[] } | { readonly refusal: Refusal } {
  if (key === null) return { changes: [] };
  const read = keyReaderOf(key.columns);
  const [given, taken] = [read(before), read(after)];
  if (given?.text === taken?.text) return { changes: [] };
  const holder = taken === null ? null : keys.holder(key, taken.text);
  if (holder !== null) return { refusal: keyNotUnique(`row ${rowId}`, `row ${holder.rowId}`, shownKey(key, taken!)) };
  const change: KeysChange = {
    kind: 'keys',
    tableId: key.tableId,
    since: key.since,
    freed: given === null ? [] : [given.text],
    taken: taken === null ? [] : [[taken.text, { extent: extent.key, index, rowId }]],
  };
  return { changes: [change] };
}

/** The row gives up its key. */
export function keysOfDeletedRow(tables: TablesState, table: Table, { form, body }: StoredRow): readonly KeysChange[] {
  if (table.keyColumns === null || body === null) return [];
  const schema = tables.schema(table);
  const key = keyOf(table, schema)!;
  const given = keyReaderOf(key.columns)(presentersOf(schema, table.widened)(form)(body));
  if (given === null) return [];
  return [{ kind: 'keys', tableId: key.tableId, since: key.since, freed: [given.text], taken: [] }];
}
