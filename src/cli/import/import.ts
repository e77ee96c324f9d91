/** Imports a file of rows into a table: uploads it in chunks to a stash, and imports that with one request (spec 4.13). */
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { TablogError, type Imported, type OnSchemaError, type Stash, type Tablog } from '../../../clients/typescript/src/index.ts';
import { describeServerError, isRefusal, isServerError } from '../client/server-error.ts';
import type { FileFormat } from '../file-format.ts';
import { UserError } from '../user-error.ts';
import type { Delimiter } from '../../formats/delimited-records.ts';
import { cutFile, cutterFor } from './cut-file.ts';
import type { Chunk, Cutter } from './chunk.ts';
import { eachInParallel } from '../../each-in-parallel.ts';
import type { Target } from './import-request.ts';
import { describeDelimiter } from './delimiter.ts';
import { MalformedFile } from './malformed-file.ts';
import { Places } from './places.ts';
import { openSource, type Source } from './source.ts';

const compressZstd = promisify(zstdCompress);
/** The fast level: it saves most, at a cost that is no loss even if the service runs on the same machine. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Below this many bytes compression is not worthwhile. */
const worthwhile = 1024;

/** Timeout of deleting the stash, in milliseconds; it expires by itself anyway. */
const removalMs = 15_000;

export interface ImportOptions {
  readonly client: Tablog;
  /** `-` for stdin. */
  readonly file: string;
  readonly format: FileFormat;
  /** Of the text, unless it begins with a byte order mark. */
  readonly encoding: string;
  /** The delimiter of the cells. If absent, it is a tab for TSV, and for CSV it is recognised from the header line. */
  readonly delimiter?: Delimiter | undefined;
  readonly target: Target;
  readonly onSchemaError: OnSchemaError;
  /** How many chunks are uploaded concurrently. */
  readonly parallel: number;
  readonly signal: AbortSignal;
  /** Called with the size of the file, null if unknown, before anything is uploaded. */
  readonly onStart: (size: number | null) => void;
  /** Called with the rows uploaded so far, and the bytes of the file that they took. */
  readonly onProgress: (rows: number, bytes: number) => void;
  /** Called with messages for the user, such as the fate of the stash. */
  readonly say: (words: string) => void;
}

export interface ImportResult extends Imported {
  readonly rows: number;
  /** How many lines of CSV or TSV had fewer cells than the header. */
  readonly shortLines: number;
}

/** Throws UserError: MalformedFile with its file, what the service refused with the place in the file. Deletes the stash in any case. */
export async function importFile(options: ImportOptions): Promise<ImportResult> {
  const { client, file, format, delimiter, signal, say } = options;
  const stopReading = new AbortController();
  const source = await openSource(file, format.compression, AbortSignal.any([signal, stopReading.signal]));
  options.onStart(source.size);
  const cutter = cutterFor(format.format, { delimiter, onRecognised: (found) => say(describeDelimiter(found)) });
  const places = new Places();
  const stash = client.stash(`import-${randomUUID()}`, { mediaType: cutter.mediaType, onSchemaError: options.onSchemaError });
  const work: Work = { source, cutter, places, stash, stopReading };
  let shortLines: number;
  try {
    shortLines = await fill(options, work);
  } catch (error) {
    await removeStash(stash, say);
    throw error instanceof MalformedFile ? error.within(source.name) : error;
  }
  try {
    const imported = await toldInFile(work, null, () => stash.importInto(options.target, { signal }));
    await deleteStash(stash).catch((error: unknown) => say(describeLeftOver(stash, error)));
    return { ...imported, rows: places.rows, shortLines };
  } catch (error) {
    await removeStash(stash, say);
    if (isRefusal(causeOf(error)) || !(error instanceof UserError || isServerError(error))) throw error;
    throw new UserError(`${describeServerError(error)} Whether the import has taken effect is not known: look at the table.`, { cause: error });
  }
}

/** What the service said, if the place in the file was added to it. */
function causeOf(error: unknown): unknown {
  return error instanceof UserError && error.cause !== undefined ? error.cause : error;
}

async function removeStash(stash: Stash, say: (words: string) => void): Promise<void> {
  if (!stash.mayExist) return;
  await deleteStash(stash).then(() => say(`The stash ${stash.id} has been deleted.`), (error: unknown) => say(describeLeftOver(stash, error)));
}

/** Also if this process has been told to stop. */
function deleteStash(stash: Stash): Promise<void> {
  return stash.delete(AbortSignal.timeout(removalMs));
}

interface Work {
  readonly source: Source;
  readonly cutter: Cutter;
  readonly places: Places;
  readonly stash: Stash;
  readonly stopReading: AbortController;
}

/** Uploads the chunks of the file to the stash. Resolves to how many lines had fewer cells than the header. */
async function fill(options: ImportOptions, work: Work): Promise<number> {
  const { source, cutter, places, stash } = work;
  let rows = 0;
  let bytes = 0;
  let shortLines = 0;
  const upload = async ({ body, chunkRows, serial, fileBytes }: PlacedChunk): Promise<void> => {
    const short = await toldInFile(work, serial, () => put(stash, serial, body));
    shortLines += short;
    rows += chunkRows;
    bytes += fileBytes;
    options.onProgress(rows, bytes);
  };
  const chunks = placed(source, options.encoding, cutter, places);
  await eachInParallel(chunks, options.parallel, upload, () => work.stopReading.abort());
  return shortLines;
}

async function put(stash: Stash, serial: number, body: Chunk['body']): Promise<number> {
  if (body.length < worthwhile) return stash.put(serial, body);
  return stash.put(serial, await compressZstd(body, fast) as Buffer<ArrayBuffer>, { encoding: 'zstd' });
}

interface PlacedChunk {
  readonly body: Chunk['body'];
  readonly chunkRows: number;
  readonly serial: number;
  /** How many bytes of the file were read for it. */
  readonly fileBytes: number;
}

async function* placed(source: Source, encoding: string, cutter: Cutter, places: Places): AsyncGenerator<PlacedChunk, void, undefined> {
  let bytesRead = 0;
  for await (const chunk of cutFile(source, encoding, cutter)) {
    const fileBytes = source.bytesRead - bytesRead;
    bytesRead = source.bytesRead;
    yield { body: chunk.body, chunkRows: chunk.rows, serial: places.add(chunk), fileBytes };
  }
}

/** Adds the place in the file to the service's errors about rows. */
async function toldInFile<T>({ source, cutter, places }: Work, serial: number | null, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof TablogError)) throw error;
    const place = places.find(error.message, serial, cutter.headerLine);
    if (place === null) throw error;
    const row = place.row === null ? '' : ` (row ${place.row})`;
    throw new UserError(`${source.name}, line ${place.line}${row}: ${describeServerError(error)}`, { cause: error });
  }
}

function describeLeftOver(stash: Stash, error: unknown): string {
  if (!isServerError(error) && (error as Error).name !== 'TimeoutError') throw error;
  return `The stash ${stash.id} could not be deleted: ${describeServerError(error as Error)} The service removes it when its time is over (STASH_LIFE_MS).`;
}
