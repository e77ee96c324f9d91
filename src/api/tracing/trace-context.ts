/** The context of a span as 25 bytes: the trace ID (16), the span ID (8) and the flags (1). */
import type { SpanContext } from '@opentelemetry/api';

const traceIdBytes = 16;
const bytesOfAll = 25;

export function encodeContext({ traceId, spanId, traceFlags }: SpanContext): Uint8Array {
  return Buffer.concat([Buffer.from(traceId + spanId, 'hex'), Buffer.from([traceFlags])]);
}

/** Decodes a context; null if this version does not know its form, because a trace must never cause an error. */
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
