/** A file of rows, wherever it is. */
export interface Source {
  /** The name as the user gave it. */
  readonly name: string;
  /** In bytes, as stored; null if unknown. */
  readonly size: number | null;
  /** How many of those bytes have been read. */
  readonly bytesRead: number;
  /**
   * Its bytes, decompressed. Can be read once. Throws MalformedFile, and the reason of the signal, which ends the
   * waiting for further bytes.
   */
  pieces(signal: AbortSignal): AsyncIterable<Uint8Array>;
}
