/**
 * Reads the texts of a result as bytes. Creating a JavaScript value for each would take longer than producing the
 * texts. Joining them in the engine would take even longer, because it copies them again and again. But the texts of a
 * result mostly follow each other in memory, so a few calls read all of them.
 */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';

/**
 * The layout of a text in a vector (`duckdb_string_t`): its length, its first four bytes, and a pointer to it. If the
 * text has at most 12 bytes: its length and the text itself.
 */
const stringBytes = 16;
const pointerAt = 8;
const inlineAt = 4;
const inlineMax = 12;

/**
 * Calls `take` with the texts of the first column, in order, as runs of texts that follow each other in memory. No text
 * may be null. The bytes belong to the chunk, and are valid as long as it exists.
 */
export function eachRun(chunk: DuckDBDataChunk, take: (run: Buffer) => void): void {
  const rows = chunk.rowCount;
  const strings = duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, 0), rows * stringBytes);
  const view = new DataView(strings.buffer as ArrayBuffer, strings.byteOffset, strings.byteLength);
  // Use `chunk` in the condition, so that it stays alive until the last run has been taken.
  for (let first = 0; first < chunk.rowCount;) {
    const at = first * stringBytes;
    let length = view.getUint32(at, true);
    first += 1;
    if (length <= inlineMax) {
      take(bufferOf(strings.subarray(at + inlineAt, at + inlineAt + length)));
      continue;
    }
    const start = pointer(view, at);
    for (; first < rows; first += 1) {
      const next = first * stringBytes;
      const more = view.getUint32(next, true);
      if (more <= inlineMax || pointer(view, next) !== start + length) break;
      length += more;
    }
    take(bufferOf(duckdb.get_data_from_pointer(view.buffer, strings.byteOffset + at + pointerAt, length)));
  }
}

/** Reads a pointer. Addresses have little more than 48 bits, so a double holds them exactly. */
function pointer(view: DataView, at: number): number {
  return view.getUint32(at + pointerAt, true) + view.getUint32(at + pointerAt + 4, true) * 2 ** 32;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
