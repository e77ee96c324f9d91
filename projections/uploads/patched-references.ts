/** The files that the rows patched or deleted in a batch now name, and those that they no longer name. */
import { fileNamesIn } from '../../src/storage/files/file-name.ts';
import { PairMap } from '../../src/log/batch/pair-map.ts';
import type { UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { ChangeReference, PatchedRow } from './upload.ts';

interface Patched extends PatchedRow {
  /** The files that the row named before the batch, and those that it names now. */
  readonly before: readonly string[];
  readonly now: readonly string[];
}

export class PatchedReferences {
  readonly #rows: PairMap<bigint, number, Patched>;

  constructor(journal: UndoJournal) {
    this.#rows = new PairMap(journal);
  }

  /** Records that a row's body was replaced; null: there is no body. */
  replace(row: PatchedRow, bodyBefore: string | null, body: string | null): void {
    const known = this.#rows.get(row.extent, row.index);
    const before = known?.before ?? namesIn(bodyBefore);
    const now = namesIn(body);
    // Skips rows that name no file. Most rows name none.
    if (known !== undefined || before.length > 0 || now.length > 0)
      this.#rows.set(row.extent, row.index, { ...row, before, now });
  }

  /** The files that the rows name after the batch. Some may be stored already. */
  named(): ChangeReference[] {
    return this.#rows
      .values()
      .flatMap(({ teamId, extent, index, now }) => now.map((file) => ({ teamId, extent, index, file })));
  }

  /** The files that the rows no longer name. Only those that an earlier patch named are stored as change references. */
  gone(): ChangeReference[] {
    return this.#rows.values().flatMap(({ teamId, extent, index, before, now }) => {
      return before.filter((file) => !now.includes(file)).map((file) => ({ teamId, extent, index, file }));
    });
  }
}

function namesIn(body: string | null): readonly string[] {
  return body === null ? [] : fileNamesIn(body);
}
