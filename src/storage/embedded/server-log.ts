/** Forwards the file with Postgres's messages, line by line. */
import { open, stat, truncate } from 'node:fs/promises';

/** A file longer than this many bytes is emptied: nobody needs the old messages. */
const LENGTH_MAX = 4 * 1024 * 1024;

export class ServerLog {
  readonly #path: string;
  readonly #sink: (line: string) => void;
  #position: number;

  private constructor(path: string, sink: (line: string) => void, position: number) {
    this.#path = path;
    this.#sink = sink;
    this.#position = position;
  }

  /** Follows the file from its current end. */
  static async follow(path: string, sink: (line: string) => void): Promise<ServerLog> {
    return new ServerLog(path, sink, await lengthOf(path));
  }

  /** Forwards the lines written since the last call, and returns them. */
  async drain(): Promise<readonly string[]> {
    const length = await lengthOf(this.#path);
    // Another process that uses the same server may have emptied the file.
    if (length < this.#position) this.#position = 0;
    const lines = length === this.#position ? [] : await this.#readLines(length - this.#position);
    for (const line of lines) this.#sink(line);
    if (length > LENGTH_MAX) {
      await truncate(this.#path, 0);
      this.#position = 0;
    }
    return lines;
  }

  async #readLines(length: number): Promise<readonly string[]> {
    const file = await open(this.#path, 'r');
    try {
      const space = Buffer.alloc(Math.min(length, LENGTH_MAX));
      const { buffer, bytesRead } = await file.read(space, { position: this.#position });
      const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1;
      this.#position += end;
      return buffer.toString('utf8', 0, end).split('\n').slice(0, -1);
    } finally {
      await file.close();
    }
  }
}

async function lengthOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return 0;
      throw error;
    },
  );
}

/**
 * Whether this line reports progress of a start: Postgres is still flushing files or replaying its WAL. It writes such
 * a line every ten seconds by default (`log_startup_progress_interval`).
 */
export function isStartupProgress(line: string): boolean {
  return /LOG: .*, elapsed time: /.test(line);
}
