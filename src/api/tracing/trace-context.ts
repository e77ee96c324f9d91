/** The context of a span as bytes: 16 of its trace ID, 8 of its span ID, and its flags. */
import type { SpanContext } from '@opentelemetry/api';

const traceIdBytes = 16;
const bytesOfAll = 25;

export function encodeContext({ traceId, spanId, traceFlags }: SpanContext): Uint8Array {
  return Buffer.concat([Buffer.from(traceId + spanId, 'hex'), Buffer.from([traceFlags])]);
}

/** Null for what this version does not know: a trace is never worth an error. */
export function decodeContext(bytes: Uint8Array): SpanContext | null {
  if (bytes.length !== bytesOfAll) return null;
  const hex = Buffer.from(bytes).toString('hex');
  return {
    traceId: hex.slice(0, 2 * traceIdBytes),
    spanId: hex.slice(2 * traceIdBytes, -2),
    traceFlags: bytes[bytesOfAll - 1]!,
    isRemote: true,
  };
}
