/** A file of rows, wherever it is stored. */
export interface Source {
  /** The name of the file, as the user gave it. */
  readonly name: string;
  /** In bytes, as stored; null if unknown. */
  readonly size: number | null;
  /** How many of those bytes have been read. */
  readonly bytesRead: number;
  /**
   * The bytes of the file, decompressed. Can be read once. Throws MalformedFile, and the reason of the signal, which
   * also ends the wait for further bytes.
   */
  pieces(signal: AbortSignal): AsyncIterable<Uint8Array>;
}
