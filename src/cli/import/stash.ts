/** A stash of the service that this process fills (spec 4.10 and 4.11). */
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { TablogClient } from '../client/tablog-client.ts';
import { UserError } from '../run-to-end.ts';

const compressZstd = promisify(zstdCompress);
/** The fast level: it takes off most, and costs so little that it is no loss on the machine of the service either. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Below this many bytes compression is not worth its while. */
const worthwhile = 1024;

/** How long the stash may take to be removed, in milliseconds; it goes away by itself in the end. */
const removalMs = 15_000;

export class Stash {
  readonly id: string;
  readonly #client: TablogClient;
  readonly #mediaType: string;
  #mayExist = false;

  /** `mediaType` is that of its chunks. */
  constructor(id: string, client: TablogClient, mediaType: string) {
    this.id = id;
    this.#client = client;
    this.#mediaType = mediaType;
  }

  /**
   * Puts a chunk into its place. To send it again only replaces it by itself. An attempt is not broken off: the service
   * could come to it after the stash was removed, and would make it anew.
   */
  async put(serial: number, body: Buffer<ArrayBuffer>): Promise<void> {
    const compress = body.length >= worthwhile;
    const sent = compress ? await compressZstd(body, fast) as Buffer<ArrayBuffer> : body;
    this.#mayExist = true;
    await this.#client.request('PUT', `/stashes/${this.id}/${serial}`, {
      headers: { 'content-type': this.#mediaType, ...(compress ? { 'content-encoding': 'zstd' } : {}) }, body: sent, mayFinish: true,
    }, drain);
  }

  /** Removes it, also when this process has been told to stop. Resolves with why it could not be; null if it is gone. */
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

  /** Whether there may be something to remove. */
  get mayExist(): boolean {
    return this.#mayExist;
  }
}

/** The connection is of use again only when the answer was read. */
async function drain(response: Response): Promise<void> {
  await response.arrayBuffer();
}
