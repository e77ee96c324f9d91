/**
 * Group commit for one partition of the log in Kafka. One send is in flight; events that arrive meanwhile go into the
 * next one. Records never overtake each other, and the batch size follows the load.
 */
import { type EncodedEvent } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatchPipeline } from '../batch/batch-pipeline.ts';
import { AppendUnknown, NotAppended } from '../event-log.ts';
import type { LogRecord } from '../event-log.ts';
import type { KafkaConnection } from './kafka-connection.ts';

/** Limits of one send. By default brokers accept batches of up to a megabyte. */
const sendBytesMax = 900_000;
const sendEventsMax = 500;

/** Delay before a refused or unanswered send is retried, in milliseconds. */
const retryDelay = 100;

/** How long a send that certainly had no effect is retried, in milliseconds: long enough to elect a new leader. */
const refusedFor = 1000;

interface Waiter {
  readonly event: EncodedEvent;
  readonly resolve: (record: LogRecord) => void;
  readonly reject: (error: Error) => void;
}

interface Send {
  readonly waiters: Waiter[];
  bytes: number;
}

interface PartitionAppenderOptions {
  readonly partition: number;
  readonly connection: Pick<KafkaConnection, 'send'>;
  /**
   * How long an unanswered send is retried, in milliseconds. A duplicate is harmless: it gets the first copy's outcome.
   */
  readonly unknownWait: number;
  /**
   * Called before each attempt to send. Rejects with NotAppended while it is uncertain whether the log still has
   * everything that was read from it.
   */
  readonly prove: () => Promise<void>;
  /** Called with events that are being sent for the first time. */
  readonly onSending: (events: readonly EncodedEvent[]) => void;
  /** Called with all sent records in order, before their appends resolve. */
  readonly onSent: (records: readonly LogRecord[]) => void;
  /** Aborted when the service stops. After that nothing is retried. */
  readonly signal: AbortSignal;
}

export class PartitionAppender {
  readonly #options: PartitionAppenderOptions;
  readonly #pipeline: BatchPipeline<Waiter, Send>;
  #failedAt = -Infinity;

  constructor(options: PartitionAppenderOptions) {
    this.#options = options;
    this.#pipeline = new BatchPipeline<Waiter, Send>({
      ownerOf: ({ event: { event } }) => teamOf(event.data),
      costOf: ({ event }) => event.cost,
      open: () => ({ waiters: [], bytes: 0 }),
      hasRoom: ({ waiters, bytes }, { event }) => {
        return waiters.length === 0 || (waiters.length < sendEventsMax && bytes + event.bytes.length <= sendBytesMax);
      },
      put: (send, waiter) => {
        send.waiters.push(waiter);
        send.bytes += waiter.event.bytes.length;
      },
      plan: async () => undefined,
      replan: async () => undefined,
      store: async ({ waiters }) => {
        await this.#settle(waiters);
        return true;
      },
      rest: () => undefined,
    });
  }

  /**
   * Resolves to the record in the log. Rejects with NotAppended (the event is certainly not in the log) or
   * AppendUnknown.
   */
  append(event: EncodedEvent): Promise<LogRecord> {
    return new Promise((resolve, reject) => this.#pipeline.push([{ event, resolve, reject }]));
  }

  /** When a send last failed and may have been retried, by `performance.now`. */
  get failedAt(): number {
    return this.#failedAt;
  }

  /** Settles when no event waits and no send is in flight. */
  async idle(): Promise<void> {
    await this.#pipeline.idle();
  }

  /** Sends events and settles their appends. Never rejects. */
  async #settle(waiters: readonly Waiter[]): Promise<void> {
    try {
      const events = waiters.map(({ event }) => event);
      const sending = this.#send(events);
      this.#options.onSending(events);
      const records = await sending;
      this.#options.onSent(records);
      waiters.forEach((waiter, at) => waiter.resolve(records[at]!));
    } catch (error) {
      for (const waiter of waiters) waiter.reject(error as Error);
    }
  }

  async #send(events: readonly EncodedEvent[]): Promise<LogRecord[]> {
    const { partition, connection, prove, unknownWait, signal } = this.#options;
    const started = performance.now();
    let unknown = false;
    for (;;) {
      try {
        await prove();
        const { offset, time } = await connection.send(
          partition,
          events.map(({ bytes }) => bytes),
        );
        return events.map(({ bytes, event }, at) => ({ partition, offset: offset + BigInt(at), time, bytes, event }));
      } catch (error) {
        this.#failedAt = performance.now();
        unknown ||= !(error instanceof NotAppended);
        const over = performance.now() - started > (unknown ? unknownWait : refusedFor);
        if (over || signal.aborted) {
          if (!unknown) throw error;
          throw new AppendUnknown('Kafka did not answer whether it stored the events', { cause: error });
        }
        await sleep(retryDelay);
      }
    }
  }
}
