/**
 * Imports a file of rows into a table: uploads it in chunks to a stash, then imports the stash with one request (spec
 * 4.13).
 */
import { formParameters, type DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import { notesMax } from '../../src/language/formats/row-reader.ts';
import { eachInParallel } from '../../src/language/each-in-parallel.ts';
import { compress, compression } from '../typescript/src/compress.ts';
import { randomID } from '../typescript/src/headers.ts';
import {
  TablogError,
  Unreachable,
  type ChunkRemarks,
  type Imported,
  type ImportTarget,
  type OnSchemaError,
  type Stash,
  type Tablog,
} from '../typescript/src/index.ts';
import type { Chunk, FileCutter } from './chunk.ts';
import { cutFile, cutterFor } from './cut-file.ts';
import type { Format } from './file-format.ts';
import { OutcomeUnknown, RefusedRow } from './import-errors.ts';
import { Places } from './places.ts';
import { FileRemarks } from './remarks.ts';
import type { Source } from './source.ts';

/** Below this many bytes compression does not pay. */
export const worthwhile = 1024;

/** Timeout of deleting the stash, in milliseconds. The stash expires anyway. */
const removalMs = 15_000;

/** A file, and how it is read. */
export interface FileReading {
  readonly source: Source;
  readonly format: Format;
  /** The encoding of the text, unless it begins with a byte order mark. */
  readonly encoding: string;
  /**
   * The form of a CSV or TSV file, as far as the person states it. If it lacks the delimiter of CSV, the delimiter is
   * detected from the first records.
   */
  readonly form?: DelimitedForm | undefined;
  /** The name of a sheet of a workbook. By default the first one that is not hidden. */
  readonly sheet?: string | undefined;
  readonly onSchemaError: OnSchemaError;
  readonly signal: AbortSignal;
  /** Called if the delimiter was detected and is not a comma. */
  readonly onRecognised: (delimiter: string) => void;
  /**
   * Called with the names in the header of CSV or TSV. Returns the column IDs of the table for names that differ from
   * their ID.
   */
  readonly columnsOf?: ((names: readonly string[]) => Readonly<Record<string, string>>) | undefined;
  /** Called with the number of rows uploaded so far, and of bytes of the file that they took. */
  readonly onProgress: (rows: number, bytes: number) => void;
}

interface FileImport extends FileReading {
  readonly client: Tablog;
  readonly target: ImportTarget;
  /** How many chunks are uploaded concurrently. */
  readonly parallel: number;
  /** Called when the stash of a failed import was deleted. */
  readonly onDeleted: (stashID: string) => void;
  /** Called when a stash could not be deleted. The stash expires by itself. */
  readonly onLeftOver: (stashID: string, error: Error) => void;
}

export interface ImportResult extends Imported, ChunkRemarks {
  readonly rows: number;
  /**
   * Columns that became text in some chunk because of some cells, as the notes name them. `readTypes` finds these
   * cells.
   */
  readonly texts: readonly string[];
}

/**
 * Imports a file. Deletes the stash in any case. Throws MalformedFile; RefusedRow, OutcomeUnknown and other errors of
 * the service (TablogError, Unreachable); errors of the source; the reason of the signal.
 */
export async function importFile(options: FileImport): Promise<ImportResult> {
  const { client, source, format, form, sheet, signal, onRecognised, columnsOf, onLeftOver } = options;
  const cutter = cutterFor(format, {
    form,
    sheet,
    onRecognised,
    columnsOf,
    refusesLongCells: options.onSchemaError !== 'dropColumns',
  });
  const places = new Places();
  const stash = client.stash(`import-${randomID()}`, {
    mediaType: cutter.mediaType,
    onSchemaError: options.onSchemaError,
  });
  const work: Work = { source, cutter, places, stash };
  let isAsked = false;
  try {
    const remarks = await fill(options, work);
    isAsked = true;
    const imported = await toldInFile(work, null, () => stash.importInto(options.target, { signal }));
    await deleteStash(stash).catch((error: unknown) => onLeftOver(stash.id, leftBehindBy(error)));
    return { ...imported, ...remarks, rows: places.rows };
  } catch (error) {
    await removeStash(stash, options);
    throw isAsked && isUnanswered(error, signal) ? new OutcomeUnknown(error as Error) : error;
  }
}

/** Whether the service gave no definite answer: it neither confirmed the request nor refused it. */
function isUnanswered(error: unknown, signal: AbortSignal): boolean {
  if (error instanceof RefusedRow) return false;
  return error instanceof TablogError
    ? [502, 503, 504].includes(error.status ?? 0)
    : error instanceof Unreachable || signal.aborted;
}

async function removeStash(stash: Stash, { onDeleted, onLeftOver }: FileImport): Promise<void> {
  if (!stash.mayExist) return;
  await deleteStash(stash).then(
    () => onDeleted(stash.id),
    (error: unknown) => onLeftOver(stash.id, leftBehindBy(error)),
  );
}

/** Deletes the stash, even if the import was told to stop. */
function deleteStash(stash: Stash): Promise<void> {
  return stash.delete(AbortSignal.timeout(removalMs));
}

/** Returns errors of the service and timeouts. Throws any other error. */
function leftBehindBy(error: unknown): Error {
  if (error instanceof TablogError || error instanceof Unreachable || (error as Error).name === 'TimeoutError')
    return error as Error;
  throw error;
}

/** A file that is being read. */
export interface OpenFile {
  readonly source: Source;
  readonly cutter: FileCutter;
  readonly places: Places;
}

interface Work extends OpenFile {
  readonly stash: Stash;
}

/** Uploads the chunks of the file to the stash. Resolves with the remarks of the service. */
async function fill(
  { encoding, parallel, signal, onProgress }: FileImport,
  work: Work,
): Promise<ChunkRemarks & Pick<ImportResult, 'texts'>> {
  const stopReading = new AbortController();
  let rows = 0;
  let bytes = 0;
  const remarks = new FileRemarks();
  const { cutter } = work;
  const upload = async ({ body, chunkRows, serial, fileBytes }: PlacedChunk): Promise<void> => {
    remarks.add(await toldInFile(work, serial, () => put(work, serial, body)));
    rows += chunkRows;
    bytes += fileBytes;
    onProgress(rows, bytes);
  };
  await eachInParallel(placed(work, encoding, AbortSignal.any([signal, stopReading.signal])), parallel, upload, () =>
    stopReading.abort(),
  );
  const { notes, shortLines } = remarks.take();
  return { shortLines, notes: [...(cutter.notes ?? []), ...notes].slice(0, notesMax), texts: remarks.texts };
}

async function put({ stash, cutter }: Work, serial: number, body: Chunk['body']): Promise<ChunkRemarks> {
  const form = formParameters(cutter.form);
  if (body.length < worthwhile) return stash.put(serial, body, { form });
  return stash.put(serial, await compress(body), { form, encoding: compression });
}

interface PlacedChunk {
  readonly body: Chunk['body'];
  readonly chunkRows: number;
  readonly serial: number;
  /** How many bytes of the file were read for this chunk. */
  readonly fileBytes: number;
}

/** Cuts the file into chunks, and notes their places. */
export async function* placed(
  { source, cutter, places }: OpenFile,
  encoding: string,
  signal: AbortSignal,
): AsyncGenerator<PlacedChunk, void, undefined> {
  let bytesRead = 0;
  for await (const chunk of cutFile(source, encoding, cutter, signal)) {
    const fileBytes = source.bytesRead - bytesRead;
    bytesRead = source.bytesRead;
    yield { body: chunk.body, chunkRows: chunk.rows, serial: places.add(chunk), fileBytes };
  }
}

/** Adds the place in the file to the service's errors about rows. */
export async function toldInFile<T>(
  { cutter, places }: OpenFile,
  serial: number | null,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof TablogError)) throw error;
    const place = places.find(error.message, serial, cutter.headerLine);
    throw place === null ? error : new RefusedRow(place, error);
  }
}
