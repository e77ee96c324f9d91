/** The retained row IDs that a batch has loaded or added. */
import { UndoMap, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { Extent, Table } from './table.ts';

/** A row of a segment, and the ID that it came with. */
export interface RetainedId {
  readonly segment: bigint;
  /** Its place in the segment. */
  readonly index: number;
  readonly id: string;
}

export class RetainedIds {
  /** By row ID, then by place (segment and index). */
  readonly #byId = new Map<string, Map<string, RetainedId>>();
  readonly #extentsOfSegments = new Map<bigint, Map<bigint, Extent>>();

  readonly #journal: UndoJournal;

  constructor(journal: UndoJournal) {
    this.#journal = journal;
  }

  /** Adds or updates an extent that retains row IDs. */
  putExtent(extent: Extent): void {
    const extents = this.#extentsOfSegments.get(extent.segment) ?? new UndoMap<bigint, Extent>(this.#journal);
    this.#extentsOfSegments.set(extent.segment, extents.set(extent.key, extent));
  }

  put(retained: RetainedId): void {
    const places = this.#byId.get(retained.id) ?? new UndoMap<string, RetainedId>(this.#journal);
    this.#byId.set(retained.id, places.set(`${retained.segment} ${retained.index}`, retained));
  }

  /** The place of the row with this ID in the table's present generation. */
  row(table: Table, id: string): { readonly extent: Extent; readonly index: number } | null {
    for (const retained of this.#byId.get(id)?.values() ?? []) {
      const extent = this.extentOf(table, retained);
      if (extent !== null) return { extent, index: retained.index - extent.first };
    }
    return null;
  }

  /** The extent of the table's present generation that contains this row of a segment. */
  extentOf(table: Pick<Table, 'id' | 'generation'>, { segment, index }: RetainedId): Extent | null {
    for (const extent of this.#extentsOfSegments.get(segment)?.values() ?? []) {
      if (extent.tableId !== table.id || extent.generation !== table.generation) continue;
      if (index >= extent.first && index < extent.first + extent.rows) return extent;
    }
    return null;
  }
}
