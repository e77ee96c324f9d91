/** A stash: rows that are sent in chunks, and become rows of a table in one step. */
import { notTablog } from './errors.ts';
import { droppedCellsOf, newKey } from './headers.ts';
import { Job, type JobProgress } from './jobs.ts';
import type { OnSchemaError } from './rows.ts';
import type { Transport } from './transport.ts';
import { ifMatch, versionOf, type Version } from './versions.ts';

export interface StashOptions {
  /** The media type of its chunks. Default: JSON. */
  readonly mediaType?:
    | 'application/json'
    | 'application/x-ndjson'
    | 'text/csv'
    | 'text/tab-separated-values'
    | undefined;
  /** Default: `abort`. */
  readonly onSchemaError?: OnSchemaError | undefined;
}

export interface ChunkOptions {
  /** How the body is compressed. */
  readonly encoding?: 'gzip' | 'br' | 'zstd' | undefined;
  /** The form of CSV or TSV, as query parameters by name (`delimiter`, `header` and so on). */
  readonly form?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The target of the rows of a stash. */
export type ImportTarget =
  | { readonly kind: 'create'; readonly name: string }
  /**
   * `add`: adds the rows to the table. `overwrite`: replaces all its rows. `ifMatch`: only if nothing has changed since
   * this version.
   */
  | { readonly kind: 'add' | 'overwrite'; readonly tableID: string; readonly ifMatch?: Version | undefined };

export interface Imported {
  readonly tableID: string;
  /** The version of the table with these rows, or a later one. */
  readonly version: Version;
  /** How many cells were dropped. */
  readonly droppedCells: number;
}

/** The service's remarks on a chunk that it took, but may have read in an unexpected way. */
export interface ChunkRemarks {
  /** How many lines of CSV or TSV had fewer cells than the header. */
  readonly shortLines: number;
  /**
   * How the chunk was read where it does not follow the standard, such as a column without a name: at most ten notes.
   */
  readonly notes: readonly string[];
}

export interface ImportOptions {
  /** Called while the rows are imported. */
  readonly onProgress?: ((progress: JobProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The remarks in an answer. */
export function remarksOf({ headers }: Response): ChunkRemarks {
  const notes = headers.get('tablog-notes');
  return {
    shortLines: Number(headers.get('tablog-short-lines') ?? 0),
    notes: notes === null ? [] : notes.split('; '),
  };
}

export class Stash {
  readonly id: string;
  readonly #transport: Transport;
  readonly #mediaType: string;
  readonly #onSchemaError: OnSchemaError;
  #mayExist = false;

  constructor(
    transport: Transport,
    id: string,
    { mediaType = 'application/json', onSchemaError = 'abort' }: StashOptions = {},
  ) {
    this.#transport = transport;
    this.id = id;
    this.#mediaType = mediaType;
    this.#onSchemaError = onSchemaError;
  }

  /** Whether a chunk was sent. */
  get mayExist(): boolean {
    return this.#mayExist;
  }

  /** Sends a chunk: the body of a request that adds rows. A chunk with the same serial replaces it. */
  async put(
    serial: number,
    body: string | Uint8Array<ArrayBuffer>,
    { encoding, form, signal }: ChunkOptions = {},
  ): Promise<ChunkRemarks> {
    this.#mayExist = true;
    const { response } = await this.#transport.operations.PUT('/stashes/{stashID}/{serial}', {
      params: {
        path: { stashID: this.id, serial: String(serial) },
        query: { ...form, ...(this.#onSchemaError === 'dropColumns' && { onSchemaError: 'dropColumns' }) },
      },
      headers: { 'content-type': this.#mediaType, ...(encoding && { 'content-encoding': encoding }) },
      // As bytes or text, because the document describes the contents.
      body: body as never,
      bodySerializer: (given) => given,
      ...(signal && { signal }),
    });
    return remarksOf(response);
  }

  /**
   * Imports the stash into a table, all rows or none, and waits for it. Throws TablogError, without a status if the job
   * failed.
   */
  async importInto(target: ImportTarget, { onProgress, signal }: ImportOptions = {}): Promise<Imported> {
    const { operations, streaming } = this.#transport;
    const query = { onSchemaError: this.#onSchemaError };
    const header = { ...newKey(), 'x-service-asynchronous': 'true' } as const;
    const rows = { $stashID: this.id };
    // The answer has the IDs of all rows. Only its beginning is read.
    const asked = { parseAs: 'stream', ...(signal && { signal }) } as const;
    const ask = (): Promise<{ readonly response: Response; readonly data?: unknown }> => {
      if (target.kind === 'create')
        return streaming.POST('/tables', {
          params: { query: { ...query, name: target.name }, header },
          body: { rows },
          ...asked,
        });
      const params = { path: { tableID: target.tableID }, query, header: { ...header, ...ifMatch(target.ifMatch) } };
      return target.kind === 'add'
        ? streaming.POST('/tables/{tableID}/rows', { params, body: rows, ...asked })
        : streaming.PUT('/tables/{tableID}', { params, body: { rows }, ...asked });
    };
    const { response, data } = await ask();
    const begin = await readBegin(data as ReadableStream<Uint8Array>);
    const idIn = (member: string): string => {
      const id = new RegExp(`"${member}":"([^"]+)"`).exec(begin)?.[1];
      if (id === undefined) throw notTablog(response.status);
      return id;
    };
    const tableID = target.kind === 'create' ? idIn('tableID') : target.tableID;
    if (response.status !== 202)
      return { tableID, version: versionOf(response), droppedCells: droppedCellsOf(response) };
    const { cellsDropped = 0 } = await new Job(operations, idIn('jobID')).done({ onProgress, signal });
    // A job does not have the version.
    const { response: head } = await operations.HEAD('/tables/{tableID}/rows', { params: { path: { tableID } } });
    return { tableID, version: versionOf(head), droppedCells: cellsDropped };
  }

  /** Deletes the stash and its rows, even when the signal of the client has aborted. It would expire by itself. */
  async delete(signal?: AbortSignal): Promise<void> {
    if (!this.#mayExist) return;
    await this.#transport.lasting.DELETE('/stashes/{stashID}', {
      params: { path: { stashID: this.id } },
      ...(signal && { signal }),
    });
    this.#mayExist = false;
  }
}

/** The beginning of an answer, which has its IDs. */
async function readBegin(answer: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  const reader = answer.getReader();
  let begin = '';
  while (begin.length < 256) {
    const { done, value } = await reader.read();
    if (done) return begin;
    begin += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return begin;
}
