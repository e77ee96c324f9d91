/**
 * A minimal HTTP/1.1 client: one keep-alive socket, one request at a time, requests as raw bytes. A client library
 * costs more than the servers do, and would dominate the measurement.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  status: number;
  body: Buffer;
  /** When its first bytes arrived, by `performance.now()`. */
  firstByteAt: number;
}

/** An answer, and the offset after it. */
interface Parsed {
  answer: Omit<Answer, 'firstByteAt'>;
  end: number;
}

/** The answer is incomplete before this many bytes have arrived. */
interface Unfinished {
  bytesNeeded: number;
  isChunked?: boolean;
}

function endsWithLastChunk(pieces: readonly Buffer[]): boolean {
  const last = pieces.at(-1)!;
  const end = last.length >= lastChunk.length ? last : Buffer.concat(pieces.slice(-lastChunk.length));
  return end.subarray(-lastChunk.length).equals(lastChunk);
}

interface Waiting {
  resolve: (answer: Answer) => void;
  reject: (reason: Error) => void;
}

export class Connection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #firstByteAt = 0;
  #received: Buffer[] = [];
  #bytesReceived = 0;
  #bytesNeeded = 0;
  #isChunked = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#receive(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /**
   * Connects to a server on this machine, from this address of it (undefined: the system chooses one). Rejects if
   * nothing listens at `port`.
   */
  static open(port: number, from?: string): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port,
        noDelay: true,
        ...(from !== undefined && { localAddress: from }),
      });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Sends a whole request; resolves to its answer, of any status. Rejects if the connection breaks. */
  send(request: string | Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting) throw new Error('the last request has no answer yet');
      if (this.#socket.destroyed) throw new Error('the connection is closed');
      this.#waiting = { resolve, reject };
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#bytesReceived === 0) this.#firstByteAt = performance.now();
    this.#received.push(bytes);
    this.#bytesReceived += bytes.length;
    if (this.#bytesReceived < this.#bytesNeeded) return;
    // A long chunked answer arrives in very many pieces. Join them only after the end has arrived.
    if (this.#isChunked && !endsWithLastChunk(this.#received)) return;
    const received = this.#received.length === 1 ? bytes : Buffer.concat(this.#received);
    try {
      const parsed = parseAnswer(received);
      if ('bytesNeeded' in parsed) {
        this.#received = [received];
        this.#bytesNeeded = parsed.bytesNeeded;
        this.#isChunked = parsed.isChunked ?? false;
      } else {
        this.#finish(parsed, received.length);
      }
    } catch (error) {
      this.#socket.destroy(error as Error);
    }
  }

  #finish({ answer, end }: Parsed, bytesReceived: number): void {
    const waiting = this.#waiting;
    if (!waiting || end < bytesReceived) throw new Error('the server sent more bytes than one answer');
    this.#waiting = undefined;
    this.#received = [];
    this.#bytesReceived = 0;
    this.#bytesNeeded = 0;
    this.#isChunked = false;
    waiting.resolve({ ...answer, firstByteAt: this.#firstByteAt });
  }

  #fail(reason: Error): void {
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }
}

const lastChunk = Buffer.from('\r\n0\r\n\r\n');
const headEnd = Buffer.from('\r\n\r\n');
const lineEnd = Buffer.from('\r\n');

/** The answer at the start of `received`. Throws if it is not HTTP as the two servers speak it. */
function parseAnswer(received: Buffer): Parsed | Unfinished {
  const headLength = received.indexOf(headEnd);
  if (headLength < 0) return { bytesNeeded: received.length + 1 };
  const head = received.toString('latin1', 0, headLength);
  const status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
  const start = headLength + headEnd.length;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head);
  if (length) {
    const end = start + Number(length[1]);
    if (end > received.length) return { bytesNeeded: end };
    return { answer: { status, body: received.subarray(start, end) }, end };
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`);
  return parseChunks(received, start, status);
}

function parseChunks(received: Buffer, start: number, status: number): Parsed | Unfinished {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const sizeEnd = received.indexOf(lineEnd, at);
    if (sizeEnd < 0) return { bytesNeeded: received.length + 1, isChunked: true };
    const size = Number.parseInt(received.toString('latin1', at, sizeEnd), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    const chunkStart = sizeEnd + lineEnd.length;
    at = chunkStart + size + lineEnd.length;
    if (at > received.length) return { bytesNeeded: at, isChunked: true };
    if (size === 0) return { answer: { status, body: Buffer.concat(chunks) }, end: at };
    chunks.push(received.subarray(chunkStart, chunkStart + size));
  }
}
