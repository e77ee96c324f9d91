/**
 * Reads a file that an engine sends over HTTP into memory that is reused. With a new buffer for each read, V8's garbage
 * collector would mark the whole heap every few MiB, which takes longer than passing the bytes on. So this module reads
 * the socket and parses HTTP by itself.
 */
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { EngineAddress } from './engine-addresses.ts';

/** The maximum number of bytes of one read. */
const readBytesMax = 128 * 1024;

/** The high-water mark of the file's stream, in bytes. */
const waitingBytesMax = 64 * 1024;

/**
 * The size of the reused memory, in bytes. Reads fill it one after the other and then start over. So a part is
 * overwritten after this many further bytes, which is more than the high-water marks of the file and of the stream that
 * it is piped to.
 */
export const fileMemoryBytes = 2 * 1024 * 1024;

const lineFeed = 0x0a;

/** The status and the headers of the answer. */
interface Head {
  readonly status: number;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The body of an answer. Pipe it on: its parts are overwritten later. Ends with an error if the engine does not send
 * all of it.
 */
export class EngineFile extends Readable {
  readonly #socket: Socket;
  readonly #memory = Buffer.allocUnsafeSlow(fileMemoryBytes);
  readonly #head = Promise.withResolvers<Head>();
  /** The position of the next read in the memory. */
  #at = 0;
  /** The beginning of an incomplete line, of the head or between chunks of the body. */
  #line = '';
  /** The lines of the head so far; null once the head is complete. */
  #lines: string[] | null = [];
  /** How many bytes of the present chunk are still to come. */
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
      // If the body is complete, its reader may still be reading.
      if (!this.#isComplete) this.destroy(new Error('the connection ended before the file'));
    });
    // `open` or the file reports the failure.
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
    // A stream ignores a signal that aborted before the stream was created.
    signal.throwIfAborted();
    const file = new EngineFile(address, signal);
    // The reader of the file gets errors as well.
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

  /** Takes the bytes of a read. Returns false to pause the socket. */
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
    // The empty line after a chunk.
    if (line === '') return;
    if (!/^[0-9a-f]+$/i.test(line)) {
      this.destroy(new Error('the engine sent an invalid chunk'));
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
