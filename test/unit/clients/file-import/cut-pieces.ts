/** Cuts a file that is in memory, for the tests of the command line. */
import { lineOfRow, type Chunk, type ChunkLimits } from '../../../../clients/file-import/chunk.ts';
import { cutterFor, type CutterOptions } from '../../../../clients/file-import/cut-file.ts';
import { MalformedFile } from '../../../../clients/file-import/malformed-file.ts';
import type { TextFormat } from '../../../../clients/file-import/file-format.ts';

/** The chunks of a file whose bytes come in these pieces. */
export function cutPieces(
  format: TextFormat,
  pieces: readonly (Uint8Array | string)[],
  limits?: ChunkLimits,
  options: Omit<CutterOptions, 'limits'> = {},
): Chunk[] {
  const cutter = cutterFor(format, { limits, ...options });
  const chunks = pieces.flatMap((piece) => [...cutter.push(typeof piece === 'string' ? Buffer.from(piece) : piece)]);
  return [...chunks, ...cutter.end()];
}

export function bodyOf({ body }: Chunk): string {
  return body.toString();
}

/** The line of each row of these chunks. */
export function linesOf(chunks: readonly Chunk[]): number[] {
  return chunks.flatMap(({ rows, lines }) => Array.from({ length: rows }, (_, row) => lineOfRow(lines, row)));
}

/** What a file is refused with, and its line; null if it is not. */
export function mistakeOf(cut: () => unknown): readonly [number | null, string] | null {
  try {
    cut();
    return null;
  } catch (error) {
    if (!(error instanceof MalformedFile)) throw error;
    return [error.line, error.reason];
  }
}
