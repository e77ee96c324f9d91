/**
 * Texts of a result as bytes. A value of JavaScript for each would take longer than to make the texts, and to join them
 * in the engine longer still: it moves them again and again. But the texts of a result mostly follow each other in
 * memory, so a few calls read all of them.
 */
import type { DuckDBDataChunk } from '@duckdb/node-api';
import duckdb from '@duckdb/node-bindings';

/**
 * A text in a vector (`duckdb_string_t`): its length, four bytes of it, and a pointer to it; or the length and the
 * text, if that has at most 12 bytes.
 */
const stringBytes = 16;
const pointerAt = 8;
const inlineAt = 4;
const inlineMax = 12;

/**
 * Calls `take` with the texts of the first column, none of which is null, one behind the other: with as many at once as
 * follow each other. The bytes are those of the chunk, and go with it.
 */
export function eachRun(chunk: DuckDBDataChunk, take: (run: Buffer) => void): void {
  const rows = chunk.rowCount;
  const strings = duckdb.vector_get_data(duckdb.data_chunk_get_vector(chunk.chunk, 0), rows * stringBytes);
  const view = new DataView(strings.buffer as ArrayBuffer, strings.byteOffset, strings.byteLength);
  // The chunk is asked after each run, so that it is there until the last has been taken.
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

/** Addresses have 48 bits or a few more, so a double holds them. */
function pointer(view: DataView, at: number): number {
  return view.getUint32(at + pointerAt, true) + view.getUint32(at + pointerAt + 4, true) * 2 ** 32;
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
