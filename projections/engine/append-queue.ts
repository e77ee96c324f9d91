/** What waits to be appended, or for its outcome, over all partitions of a process: counted, and bounded. */
import type { NotAppended } from '../../src/log/event-log.ts';
import { refuse, type LogObserver, type RefusalReason } from '../../src/log/log-observer.ts';

export interface AppendQueueOptions {
  /** What may wait; past it appends are refused. */
  readonly eventsMax: number;
  readonly bytesMax: number;
  readonly observer: LogObserver;
}

/** The place of an event in the queue. */
export interface QueuedEvent {
  /** Its bytes are off to where they are kept: they take no memory any more. Safe to call twice. */
  sent(): void;
  /** It has its outcome, or never will. */
  left(): void;
}

export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #events = 0;
  #bytes = 0;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  get events(): number {
    return this.#events;
  }

  /** Bytes of events to be sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Gives an event a place. Throws NotAppended when there is none. */
  enter(partition: number, bytes: number): QueuedEvent {
    const { eventsMax, bytesMax } = this.#options;
    if (this.#events >= eventsMax) throw this.refuse('queue_events', 'too many requests wait for their outcome', partition);
    if (this.#bytes + bytes > bytesMax) throw this.refuse('queue_bytes', 'too much waits to be written', partition);
    this.#events += 1;
    this.#bytes += bytes;
    let unsent = bytes;
    return {
      sent: () => {
        this.#bytes -= unsent;
        unsent = 0;
      },
      left: () => {
        this.#events -= 1;
      },
    };
  }

  /** The error of an event that is not taken: it is certain that nothing has happened. Counted. */
  refuse(reason: RefusalReason, message: string, partition: number): NotAppended {
    return refuse(this.#options.observer, reason, message, { partition });
  }
}
