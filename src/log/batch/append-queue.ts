/**
 * Counts and bounds the events of a process that wait to be appended or wait for their outcome, over all partitions.
 * Measures how long they have waited.
 */
import type { EncodedEvent } from '../../language/events/event.ts';
import { eventLanguage } from '../../language/events/language.ts';
import { LanguageTooNew, type NotAppended } from '../event-log.ts';
import { reportRefusal, type LogObserver, type RefusalReason } from '../log-observer.ts';
import { Waits, type End } from './waits.ts';

interface AppendQueueOptions {
  /** How many events may wait, and how many bytes. Past either limit, appends are refused. */
  readonly eventsMax: number;
  readonly bytesMax: number;
  /** The newest language that all live processes read; absent: this process is the only one. */
  readonly languageMax?: (() => number) | undefined;
  readonly observer: LogObserver;
}

/** The place of an event in the queue. */
export interface QueuedEvent {
  /** The event's bytes have been sent and no longer count. Safe to call twice. */
  sent(): void;
  /** The event has its outcome, or will never have one. Safe to call twice. */
  left(how: End): void;
}

export class AppendQueue {
  readonly #options: AppendQueueOptions;
  #bytes = 0;
  /** By partition. */
  readonly #waits = new Map<number, Waits>();

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  get events(): number {
    return this.#waits.values().reduce((sum, { count }) => sum + count, 0);
  }

  /** Bytes of events that are not sent yet. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Queues an event. Throws NotAppended if the queue is full, or if the language of the event is too new. */
  enter(partition: number, { size: bytes, language }: Pick<EncodedEvent, 'size' | 'language'>): QueuedEvent {
    const { eventsMax, bytesMax, languageMax = () => eventLanguage, observer } = this.#options;
    if (language > languageMax()) {
      observer.refused('language');
      throw new LanguageTooNew().at({ partition });
    }
    if (this.events >= eventsMax)
      throw this.refuse('queue_events', 'too many requests wait for their outcome', partition);
    if (this.#bytes + bytes > bytesMax)
      throw this.refuse('queue_bytes', 'too many bytes wait to be written', partition);
    this.#bytes += bytes;
    let unsent = bytes;
    const wait = this.waitsIn(partition).begin();
    return {
      sent: () => {
        this.#bytes -= unsent;
        unsent = 0;
      },
      left: (how) => wait.end(how),
    };
  }

  /** The events of a partition that wait for their outcome. */
  waitsIn(partition: number): Waits {
    let waits = this.#waits.get(partition);
    if (waits === undefined) this.#waits.set(partition, (waits = new Waits()));
    return waits;
  }

  /** The error for an event that is refused before it could have any effect. Counts the refusal. */
  refuse(reason: RefusalReason, message: string, partition: number): NotAppended {
    return reportRefusal(this.#options.observer, reason, message, { partition });
  }
}
