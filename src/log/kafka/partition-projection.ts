/**
 * Projects one partition, in the process that owns it. Records come in log order, from the brokers or from this
 * process's own sends, and are projected in batches. The progress in Postgres decides whether they still have to be
 * projected (ARCHITECTURE.md, "Invariants").
 */
import type { EncodedEvent } from '../../language/events/event.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BoundStatement } from '../../storage/database/combine.ts';
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import { withEndedBackend } from '../../storage/database/end-backend.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import { isStatementTimeout } from '../../storage/database/statement-timeout.ts';
import { costOfRecord } from '../../language/events/cost.ts';
import type { LogRecord } from '../event-log.ts';
import { hashOf } from '../identity.ts';
import { isKeyTaken } from '../batch/local-keys.ts';
import { PartitionBatches } from '../batch/partition-batches.ts';
import { isFenced, type Progress } from '../progress/progress.store.ts';
import type { Decided } from '../batch/batch.ts';
import { ProjectionFailed, projectRecords, type ProjectionListener, type ProjectTarget } from '../project-records.ts';
import type { Projector } from '../projector.ts';
import type { SpeculativeBatch } from '../batch/speculative-batch.ts';
import { storeSpeculative } from '../batch/store-speculative.ts';

/** How many bytes and records may wait to be projected before fetching pauses. */
const queueBytesMax = 16 * 1024 * 1024;

/** How long to wait before a retry while Postgres is away, in milliseconds. */
const retryDelay = 200;

const selectPosition: Statement<{ next: bigint; epoch: bigint; contradicted: boolean }> = {
  name: 'select_position',
  text: 'select next, epoch, contradicted from progress where partition = $1',
};

/** The progress and epoch of a partition when this process took it over. */
export type TakeoverPosition = Pick<Progress, 'next' | 'time' | 'epoch' | 'lastHash'>;

/** The events in the projection of a partition. */
export interface ProjectionEvents {
  /** Stores a batch, with the notification of it if possible (`ProgressNotifier.withNotification`). */
  readonly withNotification: (
    records: readonly LogRecord[],
    decided: Decided,
    store: (notify: BoundStatement | null) => Promise<void>,
  ) => Promise<boolean>;
  /**
   * Records were projected. `decided` is null if an earlier attempt committed but its answer was lost. `isNotified`:
   * whether other processes have been notified of these records.
   */
  readonly onProjected: (records: readonly LogRecord[], decided: Decided | null, isNotified: boolean) => void;
  /**
   * Another process has taken the partition over, or found that its log contradicts the read model. `isFenced`: the
   * other process only proves the log, and nobody owns the partition now.
   */
  readonly onLost: (isFenced: boolean) => void;
  /** The record at this offset cannot be projected, or is missing. */
  readonly onHalted: (offset: bigint, error: Error) => void;
}

interface PartitionProjectionOptions extends ProjectionEvents {
  readonly partition: number;
  readonly position: TakeoverPosition;
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
  readonly listener?: ProjectionListener;
}

export class PartitionProjection {
  readonly #options: PartitionProjectionOptions;
  readonly #target: ProjectTarget;
  readonly #batches: PartitionBatches<LogRecord>;
  #failedAt = -Infinity;
  #tail: bigint;
  #tailTime: number;
  /** The record before the tail; null until a record was offered. */
  #last: LogRecord | null = null;
  #queuedBytes = 0;
  #ended = false;

  constructor(options: PartitionProjectionOptions) {
    this.#options = options;
    const { partition, position, database, projector, listener } = options;
    const { epoch } = position;
    this.#target = { database, projector, partition, epoch, ...(listener === undefined ? {} : { listener }) };
    this.#tail = position.next;
    this.#tailTime = position.time;
    this.#batches = new PartitionBatches({
      partition,
      database,
      projector,
      epoch,
      costOf: ({ bytes }) => costOfRecord(bytes),
      // Records already have their offsets and times.
      timeNow: () => 0,
      place: (records) => records,
      maySpeculate: () => true,
      store: async ({ items, speculative }) => {
        const asDecided = await this.#settle(items, speculative);
        for (const { bytes } of items) this.#queuedBytes -= bytes.length;
        return asDecided;
      },
    });
  }

  /** The offset after the last record offered. */
  get tail(): bigint {
    return this.#tail;
  }

  /** When a batch last failed and was retried, by `performance.now`. */
  get failedAt(): number {
    return this.#failedAt;
  }

  /** Whether this is the record before the tail. If so, the log still has the last offered record. */
  endsWith({ offset, bytes }: LogRecord): boolean {
    if (offset !== this.#tail - 1n) return false;
    if (this.#last !== null) return Buffer.compare(this.#last.bytes, bytes) === 0;
    const { lastHash } = this.#options.position;
    return lastHash !== null && hashOf({ bytes }).equals(lastHash);
  }

  /** Whether more may be offered. */
  get hasRoom(): boolean {
    return !this.#ended && this.#queuedBytes < queueBytesMax;
  }

  /**
   * Takes the next records, and skips records that were offered before. If there is a gap before them, takes nothing
   * and returns false.
   */
  offer(records: readonly LogRecord[]): boolean {
    const fresh = records.filter(({ offset }) => offset >= this.#tail);
    if (this.#ended || fresh.length === 0) return true;
    if (fresh[0]!.offset > this.#tail) return false;
    this.#last = fresh.at(-1)!;
    this.#batches.push(
      fresh.map((record) => {
        // The brokers' clocks may differ; the log's time never falls.
        this.#tailTime = Math.max(this.#tailTime, record.time);
        this.#tail = record.offset + 1n;
        this.#queuedBytes += record.bytes.length;
        return record.time === this.#tailTime ? record : { ...record, time: this.#tailTime };
      }),
    );
    return true;
  }

  /** Events are being appended. Preloads their look-ups, unless the pipeline is busy. */
  loadAhead(events: readonly EncodedEvent[]): void {
    if (!this.#ended)
      this.#batches.loadAhead(
        this.#tail,
        events.map(({ event }) => event),
      );
  }

  /** Halts the partition, because the log has no record at the next offset. */
  halt(error: Error): void {
    if (!this.#ended) this.#halt(this.#tail, error);
  }

  /** Ends the projection: waits for the batch in flight, and leaves waiting records to the next owner. */
  async close(): Promise<void> {
    this.#end();
    await this.#batches.idle();
  }

  /**
   * Projects records, however long that takes. Resolves to whether they landed as they were decided ahead. Never
   * rejects.
   */
  async #settle(records: readonly LogRecord[], speculative: SpeculativeBatch | null): Promise<boolean> {
    const { withNotification, onProjected, listener } = this.#options;
    const began = Date.now();
    let left = records;
    for (let attempt = 1; !this.#ended && left.length > 0; attempt += 1) {
      try {
        if (speculative && attempt === 1) {
          const isNotified = await withNotification(left, speculative, (notify) => {
            return withEndedBackend(this.#options.database.writers, (tx) => storeSpeculative(tx, speculative, notify));
          });
          onProjected(left, speculative, isNotified);
          listener?.projected?.(left, began);
          return true;
        }
        await projectRecords(this.#target, left, (done, decided) => {
          onProjected(done, decided, false);
          listener?.projected?.(done, began);
        });
        this.#batches.landed(left.at(-1)!);
        return false;
      } catch (error) {
        this.#failedAt = performance.now();
        this.#batches.lost();
        if (isStatementTimeout(error)) this.#options.listener?.timedOut(left, error as Error);
        if (isKeyTaken(error)) this.#options.projector.forget();
        left = await this.#recover(left, error as Error);
      }
    }
    return false;
  }

  /** The records that still have to be projected after a failure. Never rejects. */
  async #recover(records: readonly LogRecord[], error: Error): Promise<readonly LogRecord[]> {
    if (error instanceof ProjectionFailed) {
      this.#halt(error.offset, error.cause as Error);
      return [];
    }
    try {
      const left = await this.#notYetProjected(records);
      // Postgres is reachable: retry without speculation, in a transaction.
      if (left.length < records.length || !isDatabaseAway(error)) return left;
    } catch (failure) {
      if (!isDatabaseAway(failure)) {
        this.#halt(records[0]!.offset, failure as Error);
        return [];
      }
    }
    await sleep(retryDelay);
    return records;
  }

  /** Reads the progress, because a commit may have succeeded although its answer was lost. */
  async #notYetProjected(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    const { partition, position, database, onProjected, onLost } = this.#options;
    const { rows } = await database.writers.with((tx) => tx.query(selectPosition, [partition]));
    const { next, epoch, contradicted } = rows[0]!;
    // If `next` is below these records, an older read model has replaced this one.
    if (epoch !== position.epoch || next < records[0]!.offset || contradicted) {
      this.#end();
      onLost(isFenced(epoch) && !contradicted);
      return [];
    }
    const done = records.filter(({ offset }) => offset < next);
    if (done.length > 0) onProjected(done, null, false);
    return records.slice(done.length);
  }

  #halt(offset: bigint, error: Error): void {
    this.#end();
    this.#options.onHalted(offset, error);
  }

  #end(): void {
    this.#ended = true;
    this.#batches.takeWaiting();
  }
}
