/**
 * Loads any number of rows into a table in one step. While the rows are produced, they are sent in chunks to a stash,
 * which is then imported.
 */
import { compress, compression } from './compress.ts';
import type { JobProgress } from './jobs.ts';
import type { AnyRow, OnSchemaError } from './rows.ts';
import type { ImportTarget, Stash } from './stash.ts';
import type { Version } from './versions.ts';
import { stringify } from './stringify.ts';

/** Rows in any form. They are read only as fast as they can be sent. */
export type RowSource<Row> = Iterable<Row> | AsyncIterable<Row> | ReadableStream<Row>;

export interface LoadOptions {
  /** Whether to add the rows to the table (the default), or to replace all its rows. */
  readonly mode?: 'add' | 'overwrite';
  /** The load takes effect only if nothing has changed since this version. */
  readonly ifMatch?: Version;
  readonly onSchemaError?: OnSchemaError;
  /** How many chunks are sent in parallel. */
  readonly parallel?: number;
  /** Called when rows were sent, and while they are imported. */
  readonly onProgress?: (progress: LoadProgress) => void;
  readonly signal?: AbortSignal;
}

export interface LoadProgress {
  readonly rowsSent: number;
  /** Null until all rows were sent. */
  readonly job: JobProgress | null;
}

export interface Loaded {
  readonly rows: number;
  /** The version of the table with these rows, or a later one. */
  readonly version: Version;
  /** How many cells were dropped. */
  readonly droppedCells: number;
}

/** As the interface recommends, and far below the largest body that the service accepts. */
const chunkRows = 1000;
const chunkBytes = 8_000_000;

/** Below this many characters, compressing a chunk saves nothing. */
const worthwhile = 1024;

const parallelByDefault = 4;

/** How long deleting the stash may take, in milliseconds. */
const deleteMs = 15_000;

/** Fills an empty stash with rows and imports it. Throws TablogError and Unreachable. Deletes the stash in any case. */
export async function loadRows(
  stash: Stash,
  target: ImportTarget,
  rows: RowSource<AnyRow>,
  options: LoadOptions,
): Promise<Loaded> {
  const { onProgress, signal, parallel = parallelByDefault } = options;
  let rowsSent = 0;
  try {
    await inParallel(chunksOf(rows), parallel, async ({ body, serial, rows: count }) => {
      if (body.length < worthwhile) await stash.put(serial, body, { signal });
      else await stash.put(serial, await compress(body), { encoding: compression, signal });
      rowsSent += count;
      onProgress?.({ rowsSent, job: null });
    });
    const { version, droppedCells } = await stash.importInto(target, {
      signal,
      onProgress: (job) => onProgress?.({ rowsSent, job }),
    });
    return { rows: rowsSent, version, droppedCells };
  } finally {
    // The stash is no longer needed. If this fails, it expires by itself.
    await stash.delete(AbortSignal.timeout(deleteMs)).catch(() => undefined);
  }
}

interface Chunk {
  readonly serial: number;
  /** A request body in JSON. */
  readonly body: string;
  readonly rows: number;
}

/** Yields at least one chunk, even without rows. */
async function* chunksOf(rows: RowSource<AnyRow>): AsyncGenerator<Chunk, void, undefined> {
  let texts: string[] = [];
  let length = 0;
  let serial = 0;
  const take = (): Chunk => {
    const chunk = { serial, body: `[${texts.join(',')}]`, rows: texts.length };
    texts = [];
    length = 0;
    serial += 1;
    return chunk;
  };
  for await (const row of rows as AsyncIterable<AnyRow>) {
    const text = stringify(row);
    if (texts.length > 0 && length + text.length > chunkBytes) yield take();
    texts.push(text);
    length += text.length;
    if (texts.length >= chunkRows) yield take();
  }
  if (texts.length > 0 || serial === 0) yield take();
}

/**
 * Calls `work` for each item, some in parallel. After a failure it takes no further item, and waits for those that have
 * begun.
 */
async function inParallel<T>(
  items: AsyncGenerator<T, void, undefined>,
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const worker = async (): Promise<void> => {
    // A worker that leaves the loop early ends it for all workers.
    for await (const item of items) await work(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: parallel }, worker));
  const failed = ended.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
