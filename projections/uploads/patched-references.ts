/** The files that patched and deleted rows name now, and those that they have ceased to name, over a batch. */
import { fileNamesIn } from '../../src/files/file-name.ts';
import { PairMap } from '../engine/pair-map.ts';
import type { ChangeReference, PatchedRow } from './upload.ts';

interface Patched extends PatchedRow {
  /** What the row named before the batch, and what it names now. */
  readonly before: readonly string[];
  readonly now: readonly string[];
}

export class PatchedReferences {
  readonly #rows = new PairMap<bigint, number, Patched>();

  /** A row has another body than before; null: none. */
  replace(row: PatchedRow, bodyBefore: string | null, body: string | null): void {
    const known = this.#rows.get(row.extent, row.index);
    const before = known?.before ?? namesIn(bodyBefore);
    const now = namesIn(body);
    // Most rows name no file, and never did.
    if (known !== undefined || before.length > 0 || now.length > 0) this.#rows.set(row.extent, row.index, { ...row, before, now });
  }

  /** What the rows name in the end. Some of it may stand in the read model. */
  named(): ChangeReference[] {
    return this.#rows.values().flatMap(({ teamId, extent, index, now }) => now.map((file) => ({ teamId, extent, index, file })));
  }

  /** What they name no longer. Only what an earlier patch named stands in the read model. */
  gone(): ChangeReference[] {
    return this.#rows.values().flatMap(({ teamId, extent, index, before, now }) => {
      return before.filter((file) => !now.includes(file)).map((file) => ({ teamId, extent, index, file }));
    });
  }
}

function namesIn(body: string | null): readonly string[] {
  return body === null ? [] : fileNamesIn(body);
}
