/** Reads the answers to requests on one connection from the bytes as they come. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Decompressed. */
  readonly body: Buffer;
  /** Whether the service closes the connection after it. */
  readonly isLast: boolean;
}

const decoders: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
};

export class AnswerReader {
  readonly #methods: readonly string[];
  readonly answers: RawAnswer[] = [];
  #pieces: Buffer[] = [];
  #bytes: Buffer = Buffer.alloc(0);
  /** How many bytes are there at least when the next answer is complete. */
  #awaited = 0;

  /** `methods`: those of the requests, in their order: an answer to HEAD has no body. */
  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  get isDone(): boolean {
    return this.answers.length >= this.#methods.length || this.answers.at(-1)?.isLast === true;
  }

  /** Bytes after the last answer, such as the body of an answer to a HEAD that is no valid HTTP. */
  get rest(): Buffer {
    return Buffer.concat([this.#bytes, ...this.#pieces]);
  }

  /** Throws for bytes that are no HTTP. */
  push(bytes: Buffer): void {
    this.#pieces.push(bytes);
    if (this.#bytes.length + this.#pieces.reduce((sum, piece) => sum + piece.length, 0) < this.#awaited) return;
    this.#bytes = this.rest;
    this.#pieces = [];
    while (!this.isDone && this.#readOne()) continue;
  }

  /** Whether an answer was complete. */
  #readOne(): boolean {
    this.#awaited = 0;
    const end = this.#bytes.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const { status, headers } = parseHead(this.#bytes.toString('latin1', 0, end));
    if (status < 200) {
      this.#bytes = this.#bytes.subarray(end + 4);
      return true;
    }
    const hasNoBody = this.#methods[this.answers.length] === 'HEAD' || status === 204 || status === 304;
    const body = hasNoBody ? { bytes: Buffer.alloc(0), end: end + 4 } : this.#readBody(headers, end + 4);
    if (body === null) return false;
    const encoding = headers.get('content-encoding');
    const decoded = encoding === null || hasNoBody ? body.bytes : decoders[encoding]!(body.bytes);
    this.answers.push({ status, headers, body: decoded, isLast: headers.get('connection') === 'close' });
    this.#bytes = this.#bytes.subarray(body.end);
    return true;
  }

  #readBody(headers: Headers, start: number): { bytes: Buffer; end: number } | null {
    if (headers.get('transfer-encoding') === 'chunked') return readChunks(this.#bytes, start);
    const length = headers.get('content-length');
    if (length === null || !/^[0-9]+$/.test(length))
      throw new Error(`an answer without a length: ${this.#bytes.toString('latin1', 0, start)}`);
    const end = start + Number(length);
    this.#awaited = end;
    return this.#bytes.length < end ? null : { bytes: this.#bytes.subarray(start, end), end };
  }
}

function parseHead(text: string): { status: number; headers: Headers } {
  const [first, ...lines] = text.split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5][0-9]{2}) /.exec(first!)?.[1];
  if (status === undefined) throw new Error(`this is not an answer: ${JSON.stringify(first)}`);
  const headers = new Headers();
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^`|~\w-]+): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`this is no header: ${JSON.stringify(line)}`);
    headers.append(name, value!);
  }
  return { status: Number(status), headers };
}

/** Null: the last chunk has not come yet. */
function readChunks(bytes: Buffer, start: number): { bytes: Buffer; end: number } | null {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const line = bytes.indexOf('\r\n', at);
    if (line === -1) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    const end = line + 2 + size;
    if (bytes.length < end + 2) return null;
    if (size === 0) return { bytes: Buffer.concat(chunks), end: end + 2 };
    chunks.push(bytes.subarray(line + 2, end));
    at = end + 2;
  }
}
