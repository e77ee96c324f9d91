/**
 * Replaces `Buffer` and `node:buffer` in bundles for browsers. esbuild uses it as an `alias` for the module and injects
 * it for the global.
 */
import { Buffer } from 'buffer/';

export { Buffer };

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { fatal: true });
const encoder = new TextEncoder();

/**
 * Methods of Node's buffers that src/language/formats uses but Node does not document, and methods that are faster with
 * the browser's own code.
 */
Object.assign(Buffer.prototype, {
  utf8Slice(this: Uint8Array, start: number, end: number): string {
    return decoder.decode(new Uint8Array(this.buffer, this.byteOffset + start, end - start));
  },
  utf8Write(this: Uint8Array, text: string, start: number): number {
    return encoder.encodeInto(text, new Uint8Array(this.buffer, this.byteOffset + start, this.length - start)).written;
  },
});

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch {
    // TextDecoder throws only for bytes that are not UTF-8.
    return false;
  }
}
