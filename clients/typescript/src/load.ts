/** Loads any number of rows into a table in one step: through a stash, which is filled in parts and then imported (docs/spec). */
import { eachInParallel } from './each-in-parallel.ts';
import { Job, type JobProgress } from './jobs.ts';
import { droppedCellsOf, newKey, type AnyRow, type OnSchemaError } from './table.ts';
import type { Transport } from './transport.ts';
import { ifMatch, versionOf, type Version } from './versions.ts';

/** Rows, however they come. They are taken only as fast as they can be sent. */
export type RowSource<Row> = Iterable<Row> | AsyncIterable<Row> | ReadableStream<Row>;

export interface LoadOptions {
  /** Whether the rows are added to those of the table (the default), or replace them. */
  readonly mode?: 'add' | 'overwrite';
  /** It takes effect only if nothing has changed since. */
  readonly ifMatch?: Version;
  readonly onSchemaError?: OnSchemaError;
  /** How many parts are sent at once. */
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
  /** How many cells were dropped, where `dropColumns` allowed that. */
  readonly droppedCells: number;
}

/** As the interface recommends, and well below the largest body that the service accepts. */
const chunkRows = 1000;
const chunkBytes = 8_000_000;

/** Below this many characters, compressing a part saves nothing. */
const worthwhile = 1024;

const parallelByDefault = 4;

/** Throws TablogError and Unreachable; then the table is unchanged. */
export async function loadRows(transport: Transport, tableID: string, rows: RowSource<AnyRow>, options: LoadOptions): Promise<Loaded> {
  const { onSchemaError = 'abort', onProgress, signal, parallel = parallelByDefault } = options;
  const stashID = `load-${crypto.randomUUID()}`;
  const { operations, streaming } = transport;
  let rowsSent = 0;
  try {
    await eachInParallel(chunksOf(rows), parallel, async ({ body, rows: count }, serial) => {
      await operations.PUT('/stashes/{stashID}/{serial}', {
        params: { path: { stashID, serial: String(serial) }, query: onSchemaError === 'dropColumns' ? { onSchemaError } : {} },
        ...await compressed(body), ...(signal && { signal }),
      });
      rowsSent += count;
      onProgress?.({ rowsSent, job: null });
    }, () => undefined);
    const params = {
      path: { tableID }, query: { onSchemaError }, header: { ...newKey(), ...ifMatch(options.ifMatch), 'x-service-asynchronous': 'true' },
    } as const;
    const asked = { params, body: { $stashID: stashID }, parseAs: 'stream', ...(signal && { signal }) } as const;
    // The answer has the IDs of all rows.
    const { response } = options.mode === 'overwrite'
      ? await streaming.PUT('/tables/{tableID}', { ...asked, body: { rows: asked.body } })
      : await streaming.POST('/tables/{tableID}/rows', asked);
    if (response.status !== 202) {
      await response.body?.cancel();
      return { rows: rowsSent, version: versionOf(response), droppedCells: droppedCellsOf(response) };
    }
    const { data: { jobID } } = await response.json() as { readonly data: { readonly jobID: string } };
    const { cellsDropped = 0 } = await new Job(operations, jobID).done({ onProgress: (job) => onProgress?.({ rowsSent, job }), signal });
    const { response: head } = await operations.HEAD('/tables/{tableID}/rows', { params: { path: { tableID } } });
    return { rows: rowsSent, version: versionOf(head), droppedCells: cellsDropped };
  } finally {
    // Imported or not, it is of no use any more. It would expire by itself.
    await operations.DELETE('/stashes/{stashID}', { params: { path: { stashID } } }).catch(() => undefined);
  }
}

interface Chunk {
  /** A request body in JSON. */
  readonly body: string;
  readonly rows: number;
}

/** At least one, also without rows. */
async function* chunksOf(rows: RowSource<AnyRow>): AsyncGenerator<Chunk> {
  let texts: string[] = [];
  let length = 0;
  let hasChunk = false;
  const take = (): Chunk => {
    const chunk = { body: `[${texts.join(',')}]`, rows: texts.length };
    texts = [];
    length = 0;
    hasChunk = true;
    return chunk;
  };
  for await (const row of rows as AsyncIterable<AnyRow>) {
    const text = JSON.stringify(row);
    if (texts.length > 0 && length + text.length > chunkBytes) yield take();
    texts.push(text);
    length += text.length;
    if (texts.length >= chunkRows) yield take();
  }
  if (texts.length > 0 || !hasChunk) yield take();
}

interface EncodedBody {
  /** Bytes: the document describes what is in them. */
  readonly body: never;
  readonly bodySerializer: <Body>(body: Body) => Body;
  readonly headers: Readonly<Record<string, string>>;
}

async function compressed(text: string): Promise<EncodedBody> {
  const asItIs = { bodySerializer: <Body>(body: Body): Body => body };
  if (text.length < worthwhile) return { ...asItIs, body: text as never, headers: {} };
  const bytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  return { ...asItIs, body: bytes as never, headers: { 'content-encoding': 'gzip' } };
}
