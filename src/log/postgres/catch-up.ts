/** Brings the read model to the end of a log in Postgres to which other processes also append. */
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { NotAppended } from '../event-log.ts';
import type { LogObserver } from '../log-observer.ts';
import { allPartitions } from '../partition.ts';
import { noteFailure, readProgressOf, type Progress } from '../progress/progress.store.ts';
import { isConflict, ProjectionFailed, projectRecords } from '../project-records.ts';
import { listenerOf } from '../projection-listener.ts';
import { ProgressMoved, type Projector } from '../projector.ts';
import { SharedRuns } from '../shared-runs.ts';
import type { PostgresReader } from './postgres-reader.ts';

interface CatchUpOptions {
  readonly database: Database;
  readonly projector: Projector;
  readonly reader: PostgresReader;
  readonly partitions: number;
  /** The epochs of the opened read model, by partition. If one has changed, the read model was replaced. */
  readonly epochs: readonly bigint[];
  readonly logger: Logger;
  readonly observer: LogObserver;
  /** Called with the stored progress before any record is projected. */
  readonly onProgress: (partition: number, progress: Progress) => void;
}

export class CatchUp {
  readonly #options: CatchUpOptions;
  readonly #runs: readonly SharedRuns<void>[];
  readonly #halted = new Map<number, string>();

  constructor(options: CatchUpOptions) {
    this.#options = options;
    this.#runs = allPartitions(options.partitions).map((partition) => new SharedRuns(() => this.#runOnce(partition)));
  }

  /** The halted partitions, with the reasons. */
  get halted(): ReadonlyMap<number, string> {
    return this.#halted;
  }

  /**
   * Projects the records of the log after the progress. If a record cannot be projected, its team goes into quarantine;
   * if it belongs to no team, the partition halts. Rejects with NotAppended if it has halted.
   */
  async run(partition: number): Promise<void> {
    await this.#runs[partition]!.run();
  }

  async #runOnce(partition: number): Promise<void> {
    const { database, projector, reader, epochs, logger, observer, onProgress } = this.#options;
    const { end } = await reader.bounds(partition);
    for (;;) {
      const progress = await readProgressOf(database.pool, partition);
      const { next, epoch } = progress;
      onProgress(partition, progress);
      if (epoch !== epochs[partition])
        throw new NotAppended('the read model was replaced, and this process is about to open the new one');
      if (next >= end) break;
      try {
        for await (const records of reader.read(partition, next, end)) {
          const target = { database, projector, partition, epoch, listener: listenerOf(logger, observer) };
          await projectRecords(target, records, (done) => observer.batchProjected(done.length));
        }
      } catch (error) {
        // Another process is also catching up.
        if (error instanceof ProgressMoved || isConflict(error)) continue;
        if (!(error instanceof ProjectionFailed)) throw error;
        throw await this.#halt(partition, error);
      }
    }
    this.#halted.delete(partition);
  }

  /** Stores the halt, and returns the error for the waiting requests. */
  async #halt(partition: number, failed: ProjectionFailed): Promise<NotAppended> {
    const { database, logger } = this.#options;
    const { offset, cause } = failed;
    const reason = `partition ${partition} has halted at offset ${offset}: ${(cause as Error).message}`;
    this.#halted.set(partition, reason);
    logger.fatal(
      { partition, offset: String(offset), err: cause },
      'a partition has halted: its log cannot be projected any further',
    );
    await noteFailure(database.pool, partition, offset, reason).catch((unnoted: unknown) =>
      logger.warn({ err: unnoted, partition }, 'the reason of a halt could not be stored'),
    );
    return new NotAppended(reason, { cause: failed });
  }
}
