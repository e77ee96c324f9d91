/** Files for tests of the command line. */
import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** A published data set, from a development dependency. */
export function readDataSet(file: string): Promise<string> {
  return readFile(new URL(`../../node_modules/vega-datasets/data/${file}`, import.meta.url), 'utf8');
}

/** Writes a file, compressed if its extension says so; resolves to its path. */
export async function writeContent(path: string, content: string): Promise<string> {
  const bytes = Buffer.from(content);
  await writeFile(
    path,
    path.endsWith('.gz') ? gzipSync(bytes) : path.endsWith('.zst') ? zstdCompressSync(bytes) : bytes,
  );
  return path;
}

/** The content of a file, decompressed if its extension says so. */
export async function readContent(path: string): Promise<string> {
  const bytes = await readFile(path);
  return (
    path.endsWith('.gz') ? gunzipSync(bytes) : path.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes
  ).toString();
}
