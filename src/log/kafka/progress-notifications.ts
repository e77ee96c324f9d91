/**
 * The message that a projector sends to other processes after it has stored a batch: how far the partition is projected
 * and, if they fit into a notification of Postgres, the outcomes. A process that hears them need not look them up.
 */
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { bind, type BoundStatement } from '../../storage/database/combine.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { CommandId, LogRecord } from '../event-log.ts';
import type { Decided } from '../batch/batch.ts';
import { decodeOutcome, encodeDetail } from '../outcomes/outcomes.store.ts';

export interface ProgressNotification {
  readonly partition: number;
  /** The offsets of the records that were projected; `next` is exclusive. */
  readonly from: bigint;
  readonly next: bigint;
  /** All outcomes of these records; null if they are too large or some events are held. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome> | null;
}

/** Postgres takes fewer than 8000 bytes (https://www.postgresql.org/docs/current/sql-notify.html). */
const bytesMax = 7900;
/** With more outcomes than this, encoding them is not even tried. */
const outcomesMax = 40;

type EncodedOutcome = readonly [
  commandId: CommandId,
  etag: string | null,
  detail: string | null,
  requestDigest: string | null,
];
type Encoded = readonly [partition: number, from: string, next: string, outcomes: readonly EncodedOutcome[] | null];

/** `decided`: null if this process does not know the outcomes. */
export function notificationOf(
  partition: number,
  records: readonly LogRecord[],
  decided: Decided | null,
): ProgressNotification {
  const outcomes = decided === null || decided.held.size > 0 ? null : decided.outcomes;
  return { partition, from: records[0]!.offset, next: records.at(-1)!.offset + 1n, outcomes };
}

export function encodeNotification({ partition, from, next, outcomes }: ProgressNotification): string {
  const encode = (encoded: readonly EncodedOutcome[] | null): string => {
    return JSON.stringify([partition, String(from), String(next), encoded] satisfies Encoded);
  };
  if (outcomes === null || outcomes.size > outcomesMax) return encode(null);
  const text = encode(
    Array.from(outcomes, ([commandId, outcome]) => {
      return [
        commandId,
        outcome.etag === undefined ? null : String(outcome.etag),
        encodeDetail(outcome),
        outcome.requestDigest ?? null,
      ];
    }),
  );
  return Buffer.byteLength(text) <= bytesMax ? text : encode(null);
}

/** Null if the text is not a notification. */
export function decodeNotification(text: string): ProgressNotification | null {
  try {
    return decode(JSON.parse(text) as Encoded);
  } catch {
    return null;
  }
}

function decode([partition, from, next, outcomes]: Encoded): ProgressNotification {
  return {
    partition,
    from: BigInt(from),
    next: BigInt(next),
    outcomes:
      outcomes &&
      new Map(
        outcomes.map(([commandId, etag, detail, requestDigest]) => {
          return [commandId, decodeOutcome(etag === null ? null : BigInt(etag), detail, requestDigest)];
        }),
      ),
  };
}

const notify: Statement = {
  name: 'notify_progress',
  text: 'select pg_notify($1, payload) from unnest($2::text[]) as payload',
};

/**
 * Sends notifications: together with a batch, or separately. Separate ones that wait for an earlier one are sent
 * together.
 */
export class ProgressNotifier {
  readonly #database: Pick<Database, 'reader'>;
  readonly #channel: string;
  readonly #logger: Logger;
  #waiting: string[] = [];
  #sending: Promise<void> | null = null;
  #stores = 0;

  constructor(database: Pick<Database, 'reader'>, channel: string, logger: Logger) {
    this.#database = database;
    this.#channel = channel;
    this.#logger = logger;
  }

  /**
   * Stores a batch. `store` gets the statement that notifies of the batch, or null if it should not notify. Postgres
   * commits notifying transactions one after the other, so a batch does not notify while this process stores other
   * batches. Resolves to whether the notification was sent. Rejects as `store` does.
   */
  async withNotification(
    notification: ProgressNotification,
    store: (notify: BoundStatement | null) => Promise<void>,
  ): Promise<boolean> {
    const isAlone = this.#stores === 0;
    this.#stores += 1;
    try {
      await store(isAlone ? bind(notify, [this.#channel, [encodeNotification(notification)]]) : null);
    } finally {
      this.#stores -= 1;
    }
    return isAlone;
  }

  /** Never rejects. */
  notify(notification: ProgressNotification): void {
    this.#waiting.push(encodeNotification(notification));
    this.#sending ??= this.#send();
  }

  /** Settles when no notification waits. */
  async close(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const payloads = this.#waiting;
        this.#waiting = [];
        await this.#database.reader.query(notify, [this.#channel, payloads]);
      }
    } catch (error) {
      // The other processes poll soon.
      this.#waiting = [];
      this.#logger.debug({ err: error }, 'a notification could not be sent');
    } finally {
      this.#sending = null;
    }
  }
}
