/**
 * Reads a file that an engine sends over HTTP, into memory that is used again and again: bytes that come as new buffers
 * would make the collector of garbage mark the whole heap every few MiB, which takes longer than to pass them on. So
 * this reads the socket, and HTTP, by itself.
 */
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { EngineAddress } from './engine-addresses.ts';

/** The most bytes that are read at once. */
const readBytesMax = 128 * 1024;

/** How many bytes of parts may wait in the file. */
const waitingBytesMax = 64 * 1024;

/**
 * Reads take places in so much memory, one after the other. A part is overwritten once so many bytes came after it:
 * more than may wait in the file, and in a stream that it is piped to, by their high-water marks.
 */
export const fileMemoryBytes = 2 * 1024 * 1024;

const lineFeed = 0x0a;

/** How the engine began to answer. */
interface Head {
  readonly status: number;
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The body of an answer, to be piped: what it gave is overwritten later. Ends with an error if the engine did not send
 * all of it.
 */
export class EngineFile extends Readable {
  readonly #socket: Socket;
  readonly #memory = Buffer.allocUnsafeSlow(fileMemoryBytes);
  readonly #head = Promise.withResolvers<Head>();
  /** Where in the memory the next read goes. */
  #at = 0;
  /** What has come of a line: of the head, or between chunks of the body. */
  #line = '';
  /** The lines of the head; null: it has come. */
  #lines: string[] | null = [];
  /** How many bytes of a chunk are to come. */
  #left = 0;
  #isComplete = false;

  private constructor({ url }: EngineAddress, signal: AbortSignal) {
    super({ highWaterMark: waitingBytesMax, signal });
    const { hostname, port } = new URL(url);
    this.#socket = connect({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      onread: {
        buffer: () => this.#memory.subarray(this.#at, this.#at + readBytesMax),
        callback: (length) => this.#take(this.#memory.subarray(this.#at, this.#at + length)),
      },
    });
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => {
      // What is complete may not have been read yet.
      if (!this.#isComplete) this.destroy(new Error('the connection ended before the file'));
    });
    // Whoever asked learns it from `open`, or from the file.
    this.#head.promise.catch(() => undefined);
  }

  /**
   * Sends a POST, and resolves to the answer once it begins. Rejects with the reason of the signal if it has aborted
   * before.
   */
  static async open(
    address: EngineAddress,
    path: string,
    body: object,
    signal: AbortSignal,
  ): Promise<Head & { readonly file: EngineFile }> {
    // A stream does not end by a signal that has aborted before it is made.
    signal.throwIfAborted();
    const file = new EngineFile(address, signal);
    // Who reads it is told of failures too.
    file.on('error', () => undefined);
    const text = JSON.stringify(body);
    file.#socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${new URL(address.url).host}\r\nauthorization: ${address.secret}\r\nconnection: close\r\n` +
        `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
    return { ...(await file.#head.promise), file };
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    this.#head.reject(error ?? new Error('the file was given up'));
    done(error);
  }

  /** Takes what has been read. Returns whether more is to be. */
  #take(bytes: Buffer): boolean {
    this.#at = this.#at + bytes.length + readBytesMax > fileMemoryBytes ? 0 : this.#at + bytes.length;
    let wantsMore = true;
    for (let at = 0; at < bytes.length;) {
      if (this.#left > 0) {
        const part = bytes.subarray(at, at + this.#left);
        this.#left -= part.length;
        at += part.length;
        wantsMore = this.push(part);
        continue;
      }
      const end = bytes.indexOf(lineFeed, at);
      this.#line += bytes.toString('latin1', at, end < 0 ? bytes.length : end + 1);
      if (end < 0) break;
      at = end + 1;
      const line = this.#line.trim();
      this.#line = '';
      this.#takeLine(line);
    }
    return wantsMore;
  }

  #takeLine(line: string): void {
    if (this.#lines !== null) {
      if (line === '') this.#takeHead(this.#lines);
      else this.#lines.push(line);
      return;
    }
    // Behind a chunk, and behind the last one.
    if (line === '') return;
    if (!/^[0-9a-f]+$/i.test(line)) {
      this.destroy(new Error('the engine sent what is no chunk'));
      return;
    }
    this.#left = Number.parseInt(line, 16);
    if (this.#left > 0) return;
    this.#isComplete = true;
    this.push(null);
  }

  #takeHead([first, ...lines]: readonly string[]): void {
    this.#lines = null;
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    );
    if (headers['transfer-encoding'] === 'chunked')
      this.#head.resolve({ status: Number(first!.split(' ')[1]), headers });
    else this.destroy(new Error(`the engine answered ${first}, not in chunks`));
  }
}
