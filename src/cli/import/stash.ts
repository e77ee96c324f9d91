/** A stash of the service that this process fills (spec 4.10 and 4.11). */
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { TablogClient } from '../client/tablog-client.ts';
import { UserError } from '../run-to-end.ts';

const compressZstd = promisify(zstdCompress);
/** The fast level: it saves most, at a cost that is no loss even if the service runs on the same machine. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Below this many bytes compression is not worthwhile. */
const worthwhile = 1024;

/** Timeout of deleting the stash, in milliseconds; it expires by itself anyway. */
const removalMs = 15_000;

export class Stash {
  readonly id: string;
  readonly #client: TablogClient;
  readonly #mediaType: string;
  readonly #query: string;
  #mayExist = false;

  /** `mediaType` is that of its chunks. `dropsCells`: whether cells may be dropped, which are counted then. */
  constructor(id: string, client: TablogClient, mediaType: string, dropsCells: boolean) {
    this.id = id;
    this.#client = client;
    this.#mediaType = mediaType;
    this.#query = dropsCells ? '?onSchemaError=dropColumns' : '';
  }

  /**
   * Puts a chunk into its place. A retry replaces it by itself. An attempt is never aborted at once: the service might process it
   * after the stash was deleted, and create the stash again. Resolves to how many of its lines had fewer cells than the header.
   */
  async put(serial: number, body: Buffer<ArrayBuffer>): Promise<number> {
    const compress = body.length >= worthwhile;
    const sent = compress ? await compressZstd(body, fast) as Buffer<ArrayBuffer> : body;
    this.#mayExist = true;
    return this.#client.request('PUT', `/stashes/${this.id}/${serial}${this.#query}`, {
      headers: { 'content-type': this.#mediaType, ...(compress ? { 'content-encoding': 'zstd' } : {}) }, body: sent, mayFinish: true,
    }, async (response) => {
      await drain(response);
      return Number(response.headers.get('tablog-short-lines') ?? 0);
    });
  }

  /** Deletes the stash, even if this process has been told to stop. Resolves to null, or to why it could not be deleted. */
  async remove(): Promise<string | null> {
    if (!this.#mayExist) return null;
    const signal = AbortSignal.timeout(removalMs);
    try {
      await this.#client.request('DELETE', `/stashes/${this.id}`, { signal }, drain);
      return null;
    } catch (error) {
      if (error instanceof UserError) return error.message;
      if (signal.aborted) return 'It took too long.';
      throw error;
    }
  }

  /** Whether the stash may exist. */
  get mayExist(): boolean {
    return this.#mayExist;
  }
}

/** The connection can be reused only once the answer was read. */
async function drain(response: Response): Promise<void> {
  await response.arrayBuffer();
}
