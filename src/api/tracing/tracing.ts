/** Traces of requests, as those see them who are traced. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LogRecord } from '../../log/event-log.ts';

/** The append of an event, from here to its outcome. */
export interface AppendSpan {
  /** What its record carries, so that whoever projects it continues the trace (record-header.ts). */
  readonly context: Uint8Array;
  /** `error`: why there is no outcome; undefined: there is one. */
  end(error?: unknown): void;
}

/** All of it is quick, and does not throw. */
export interface Tracing {
  /** Begins the span of a request, which ends with its answer. What `run` begins belongs to it. */
  traceRequest(request: FastifyRequest, reply: FastifyReply, run: () => void): void;
  /** Null: the current request is not sampled, or there is none. */
  beginAppend(partition: number, eventType: string): AppendSpan | null;
  /** Records were projected and stored, in a batch that was begun at this time (milliseconds since 1970). */
  recordsProjected(records: readonly Pick<LogRecord, 'partition' | 'bytes'>[], began: number): void;
  /** Sends what was not sent yet, for two seconds at most. Never rejects. */
  close(): Promise<void>;
}
