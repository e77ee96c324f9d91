/** Merges the rows of an upsert into the rows with the same keys, or into new rows. */
import type { OperationCounts } from '../../src/language/events/outcome.ts';
import { applyPatch, holdsCells, presenterOf } from '../../src/language/values/presentation.ts';
import type { Profile } from '../../src/language/values/profile.ts';
import type { RowKey } from '../../src/language/values/row-key.ts';
import { parseRow, type Cell } from '../../src/language/values/row-text.ts';
import type { Rule } from '../../src/language/values/rule.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import type { TableKey } from './keys/table-key.ts';
import type { StoredRow } from './table.ts';
import type { TablesState } from './tables.state.ts';

/** How rows are merged: by the schema that the upsert leads to. */
interface Merging {
  readonly key: TableKey;
  readonly schema: TableSchema;
  readonly widened: bigint;
  /** Whether scalars become items of array columns. */
  readonly wrap: boolean;
  readonly rule: Rule;
}

/** A row of the table, once the rows of the upsert are merged into it. */
export interface MergedRow {
  /** The row that was there before; null: the row is new. */
  readonly stored: { readonly row: StoredRow; readonly rowId: string } | null;
  /** The number of a new row among the new ones. */
  readonly place: number;
  /** As presented. */
  body: string;
  isChanged: boolean;
}

/** The first version that no schema is decided at: rows that an upsert brings have the newest types. */
const newest = 2n ** 63n - 1n;

/**
 * Reads the patches that rows are, in order. A JSON row sets the columns that it names; null empties a cell. A row of
 * cells names all columns of its header, and an empty cell empties the cell of the table.
 */
export function patchReader(profile: Profile, schema: TableSchema, wrap: boolean): (body: string) => Cell[] {
  if (!holdsCells(profile)) return parseRow;
  const present = presenterOf(schema, { stored: 'cells', decidedAt: newest, wrap, rule: profile.rule });
  const columns = profile.columns.map(({ id }) => id);
  return (body) => {
    const sent = new Set(parseRow(body).map(({ id }) => id));
    const emptied = columns.filter((id) => !sent.has(id)).map((id) => ({ id, token: 'null' }));
    return [...parseRow(present(body)), ...emptied];
  };
}

export class UpsertedRows {
  readonly #tables: TablesState;
  readonly #merging: Merging;
  /** By the texts of their keys. */
  readonly #byKey = new Map<string, MergedRow>();
  /** The row of each row of the upsert, in order. */
  readonly rows: MergedRow[] = [];
  readonly added: { readonly merged: MergedRow; readonly key: RowKey | null }[] = [];
  readonly #counts = { added: 0, patched: 0, unchanged: 0, deleted: 0 };

  constructor(tables: TablesState, merging: Merging) {
    this.#tables = tables;
    this.#merging = merging;
  }

  /** What became of each row of the upsert. */
  get counts(): OperationCounts {
    return this.#counts;
  }

  /** The rows that were there before and have changed. */
  get patched(): readonly MergedRow[] {
    return [...this.#byKey.values()].filter(({ stored, isChanged }) => stored !== null && isChanged);
  }

  /** Merges the next row. Returns its row in the table. `rowKey` null: a column of its key is empty, so it is added. */
  add(rowKey: RowKey | null, patch: readonly Cell[]): MergedRow {
    const { schema, wrap, rule } = this.#merging;
    const known = rowKey === null ? undefined : (this.#byKey.get(rowKey.text) ?? this.#find(rowKey.text));
    const merged: MergedRow = known ?? { stored: null, place: this.added.length, body: '{}', isChanged: true };
    const { body, changed } = applyPatch(merged.body, patch, schema, wrap, rule);
    merged.body = body;
    merged.isChanged ||= changed;
    if (known === undefined) this.added.push({ merged, key: rowKey });
    this.#counts[known === undefined ? 'added' : changed ? 'patched' : 'unchanged'] += 1;
    if (rowKey !== null) this.#byKey.set(rowKey.text, merged);
    this.rows.push(merged);
    return merged;
  }

  /** The row of the table with this key. */
  #find(text: string): MergedRow | undefined {
    const { key, schema, widened } = this.#merging;
    const holder = this.#tables.keys.holder(key, text);
    if (holder === null) return undefined;
    const { extent, index, rowId } = holder;
    const row = this.#tables.rowAt(extent, index);
    if (row.body === null) throw new Error(`row ${rowId} is deleted, but has a key`);
    const body = this.#tables.presenters(schema, widened)(row.form)(row.body);
    return { stored: { row, rowId }, place: -1, body, isChanged: false };
  }
}
