/** The interface of tracing for the code that is traced. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LogRecord } from '../../log/event-log.ts';

/** The span of an append, from the API process to the outcome. */
export interface AppendSpan {
  /** The context to put into the record, so that the projector continues the trace (record-header.ts). */
  readonly context: Uint8Array;
  /** Ends the span. `error` is why there is no outcome; undefined: there is one. */
  end(error?: unknown): void;
}

/** Traces. All methods are quick and do not throw. */
export interface Tracing {
  /** Begins the span of a request, which ends with its answer. Work that `run` begins belongs to the span. */
  traceRequest(request: FastifyRequest, reply: FastifyReply, run: () => void): void;
  /** Begins the span of an append; null if the current request is not sampled, or if there is none. */
  beginAppend(partition: number, eventType: string): AppendSpan | null;
  /** Traces records that were projected and stored in a batch. `began` is its beginning, in milliseconds since 1970. */
  recordsProjected(records: readonly Pick<LogRecord, 'partition' | 'bytes'>[], began: number): void;
  /** Sends the remaining spans, for two seconds at most. Never rejects. */
  close(): Promise<void>;
}
