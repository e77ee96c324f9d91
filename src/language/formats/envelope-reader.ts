/** Reads the members of the object around the rows, except the rows themselves. */
import { RefusedText, colon, openBracket, quote } from '../values/json-scanner.ts';
import type { JsonScanner } from '../values/json-scanner.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';

/** Parsed members by key. It has no prototype, so that clients' keys cannot collide with inherited ones. */
export type BodyMembers = Record<string, unknown>;

export type ParseMember = (json: string, key: string) => unknown;

const rowsKey = 'rows';

export class EnvelopeReader {
  /** Null until the object begins. */
  members: BodyMembers | null = null;
  /** The key of the last member, or of the member that was refused. */
  key: string | null = null;
  readonly #scanner: JsonScanner;
  readonly #bytesMax: number;
  readonly #parse: ParseMember;
  readonly #keys = new Set<string>();
  #bytes = 0;

  /** `parse` turns the JSON of a member into its value. */
  constructor(scanner: JsonScanner, { envelopeBytes }: RowReaderLimits, parse: ParseMember) {
    this.#scanner = scanner;
    this.#parse = parse;
    this.#bytesMax = envelopeBytes;
  }

  /** Whether the body is an array of rows, or contains one. */
  get hasRows(): boolean {
    return this.members === null || (this.#keys.has(rowsKey) && !(rowsKey in this.members));
  }

  begin(): void {
    this.members = Object.create(null) as BodyMembers;
  }

  /**
   * Reads the member whose key is at `start`. `rowsFollow`: whether the member is an array of rows. Then `end` is the
   * index after its opening bracket, otherwise the index after the member.
   * @throws UnfinishedText, RefusedText
   */
  read(start: number): { readonly end: number; readonly rowsFollow: boolean } {
    const scanner = this.#scanner;
    this.key = null;
    let read;
    try {
      read = this.#read(start);
    } catch (error) {
      this.#checkBytes(start, error instanceof RefusedText ? error.position : scanner.end);
      throw error;
    }
    this.#checkBytes(start, read.end);
    this.#bytes += read.end - start;
    this.#keys.add(this.key!);
    return read;
  }

  #read(start: number): { readonly end: number; readonly rowsFollow: boolean } {
    const scanner = this.#scanner;
    const { bytes } = scanner;
    if (bytes[start] !== quote) scanner.unexpected(start);
    const keyEnd = scanner.string(start);
    const colonAt = scanner.space(keyEnd);
    if (bytes[colonAt] !== colon) scanner.unexpected(colonAt);
    const key = scanner.decode(start, keyEnd);
    this.key = key;
    if (this.#keys.has(key)) throw new RefusedText(colonAt, 'the key stands twice in the body');

    const valueStart = scanner.space(colonAt + 1);
    if (key === rowsKey && bytes[valueStart] === openBracket) return { end: valueStart + 1, rowsFollow: true };
    const end = scanner.value(valueStart);
    // A number, unlike all other values, may continue in the next chunk.
    if (end >= scanner.end) scanner.unexpected(end);
    this.members![key] = this.#parse(scanner.text(valueStart, end), key);
    return { end, rowsFollow: false };
  }

  #checkBytes(start: number, end: number): void {
    if (this.#bytes + end - start > this.#bytesMax) {
      this.key = null;
      const reason = `everything but the rows must not be longer than ${this.#bytesMax} bytes`;
      throw new RefusedText(start, reason, 'limit_exceeded');
    }
  }
}
