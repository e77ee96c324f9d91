/** Combines the service's remarks on the chunks of a file, as if the file were one body. */
import { leftOut } from '../../src/language/formats/delimited-header.ts';
import { notesMax } from '../../src/language/formats/row-reader.ts';
import { becauseOfCells } from '../../src/language/formats/text-cells.ts';
import type { ChunkRemarks } from '../typescript/src/index.ts';

export class FileRemarks {
  #shortLines = 0;
  readonly #notes = new Set<string>();
  readonly #texts = new Set<string>();

  add({ shortLines, notes }: ChunkRemarks): void {
    this.#shortLines += shortLines;
    for (const note of notes) {
      const end = note.indexOf(`: ${becauseOfCells}`);
      if (end === -1) this.#notes.add(note);
      else this.#texts.add(note.slice(0, end));
    }
  }

  /** The columns that became text in some chunk because of some cells. (The rows in these notes are rows of chunks.) */
  get texts(): readonly string[] {
    return [...this.#texts];
  }

  /**
   * The combined remarks. A column that was left out of some chunks but has values in others is not reported as left
   * out.
   */
  take(): ChunkRemarks {
    const notes = [...this.#notes].filter(
      (note) => !(note.endsWith(leftOut) && this.#notes.has(note.slice(0, -leftOut.length))),
    );
    return { shortLines: this.#shortLines, notes: notes.slice(0, notesMax) };
  }
}
