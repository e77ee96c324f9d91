/**
 * The projection of one partition by the process that owns it. Records come in the log's order, from the brokers or from
 * the sends of this very process, and are projected in batches; the progress in Postgres decides whether they still are
 * to be (ARCHITECTURE.md, "Invariants").
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { combine, isGuardFailure } from '../../database/combine.ts';
import type { Database } from '../../database/database.ts';
import { isDatabaseAway } from '../../database/database-away.ts';
import type { PipelinedClient, Statement } from '../../database/pipelined-client.ts';
import { isImport } from '../../events/record-header.ts';
import type { BatchMemory } from '../../../projections/batch-memory.ts';
import type { Progress } from '../../../projections/progress/progress.store.ts';
import { ProgressMoved, type Draft, type Projected, type Projector } from '../../../projections/projector.ts';
import { BatchPipeline } from '../batch-pipeline.ts';
import type { EncodedEvent, LogRecord } from '../event-log.ts';
import { ProjectionFailed, projectRecords, type ProjectTarget } from '../project-records.ts';

const batchEventsMax = 500;
const batchBytesMax = 4 * 1024 * 1024;

/** What may wait to be projected before no more is fetched. */
const queueBytesMax = 16 * 1024 * 1024;

/** How long Postgres is left alone before what it failed is tried again, in milliseconds. */
const retryDelay = 200;

const selectEpoch: Statement = {
  name: 'select_epoch',
  text: 'select next, epoch from progress where partition = $1',
};

/** Where a partition stood when this process took it over, and with what. */
export type Position = Pick<Progress, 'next' | 'time' | 'epoch'>;

/** What happens to a partition while it is projected. */
export interface ProjectionEvents {
  /** Records were projected. `outcomes` is null where another attempt of the same batch, whose answer was lost, did it. */
  readonly onProjected: (records: readonly LogRecord[], outcomes: Projected['outcomes'] | null) => void;
  /** Another process has taken the partition over. */
  readonly onLost: () => void;
  /** The record at this offset cannot be projected, or is not there. */
  readonly onHalted: (offset: bigint, error: Error) => void;
}

export interface PartitionProjectionOptions extends ProjectionEvents {
  readonly partition: number;
  readonly position: Position;
  readonly database: Pick<Database, 'writers'>;
  readonly projector: Projector;
}

interface Gathered {
  readonly records: LogRecord[];
  bytes: number;
  /** Whether the last of them is an import: there is no room behind it. */
  endsWithImport: boolean;
  /** What it comes to if the progress is where it is expected; null when that cannot be said ahead. */
  draft: Draft | null;
  /** Settles when what its records need has been fetched ahead, as far as that could be done. Never rejects. */
  foreseen: Promise<void> | null;
}

export class PartitionProjection {
  readonly #options: PartitionProjectionOptions;
  readonly #target: ProjectTarget;
  readonly #pipeline: BatchPipeline<LogRecord, Gathered>;
  /** What is known when the batches so far have landed; null when nothing can be said ahead. */
  #ahead: { readonly next: bigint; readonly memory: BatchMemory | null } | null = null;
  #tail: bigint;
  #tailTime: number;
  #queuedBytes = 0;
  /** Opened before its records were there, while nothing was being projected. */
  #foreseen: Gathered | null = null;
  #ended = false;

  constructor(options: PartitionProjectionOptions) {
    this.#options = options;
    const { partition, position, database, projector } = options;
    this.#target = { database, projector, partition, epoch: position.epoch };
    this.#tail = position.next;
    this.#tailTime = position.time;
    this.#pipeline = new BatchPipeline({
      open: () => {
        const foreseen = this.#foreseen;
        this.#foreseen = null;
        return foreseen ?? this.#open();
      },
      hasRoom: ({ records, bytes, endsWithImport }, record) => {
        if (endsWithImport) return false;
        return records.length === 0 || (records.length < batchEventsMax && bytes + record.bytes.length <= batchBytesMax);
      },
      put: (gathered, record) => {
        gathered.records.push(record);
        gathered.bytes += record.bytes.length;
        gathered.endsWithImport = isImport(record.bytes);
      },
      plan: (gathered, records) => this.#plan(gathered, records),
      replan: async (gathered, asPlanned) => {
        if (asPlanned && gathered.draft !== null) return;
        this.#beginDraft(gathered);
        await this.#plan(gathered, gathered.records);
      },
      store: async ({ records, bytes, draft }) => {
        if (draft) this.#ahead = { next: draft.end, memory: draft.memory() };
        const asPlanned = await this.#settle(records, draft);
        this.#queuedBytes -= bytes;
        return asPlanned;
      },
      rest: () => this.#ahead?.memory?.forgetLast(),
    });
  }

  /** The offset behind all that was offered. */
  get tail(): bigint {
    return this.#tail;
  }

  /** Whether more may be offered. */
  get hasRoom(): boolean {
    return !this.#ended && this.#queuedBytes < queueBytesMax;
  }

  /**
   * Takes records that follow those before them; what was offered already is passed over. Gives false, and takes nothing,
   * when there is a gap.
   */
  offer(records: readonly LogRecord[]): boolean {
    const fresh = records.filter(({ offset }) => offset >= this.#tail);
    if (this.#ended || fresh.length === 0) return true;
    if (fresh[0]!.offset > this.#tail) return false;
    this.#pipeline.push(fresh.map((record) => {
      // The brokers' clocks may differ; the log's time never falls.
      this.#tailTime = Math.max(this.#tailTime, record.time);
      this.#tail = record.offset + 1n;
      this.#queuedBytes += record.bytes.length;
      return record.time === this.#tailTime ? record : { ...record, time: this.#tailTime };
    }));
    return true;
  }

  /** Events are on their way into the log: what they will need is fetched meanwhile, unless there is something to be done. */
  foresee(events: readonly EncodedEvent[]): void {
    if (this.#ended || this.#foreseen !== null || this.#ahead?.next !== this.#tail || !this.#pipeline.isIdle) return;
    const gathered = this.#open();
    const { draft } = gathered;
    if (draft === null) return;
    this.#foreseen = gathered;
    gathered.foreseen = this.#prepare(gathered, (tx) => draft.foresee(tx, events.map(({ event }) => event)));
  }

  /** Says that the log has no record where the next one should be. */
  halt(error: Error): void {
    if (!this.#ended) this.#halt(this.#tail, error);
  }

  /** Ends it: what is in flight is waited for, what waits is left to the next owner. */
  async close(): Promise<void> {
    this.#end();
    await Promise.all([this.#pipeline.idle(), this.#foreseen?.foreseen]);
  }

  #open(): Gathered {
    const gathered: Gathered = { records: [], bytes: 0, endsWithImport: false, draft: null, foreseen: null };
    this.#beginDraft(gathered);
    return gathered;
  }

  #beginDraft(gathered: Gathered): void {
    const { partition, position, projector } = this.#options;
    const ahead = this.#ahead;
    gathered.draft = ahead && projector.draft(partition, ahead.next, { ...ahead, epoch: position.epoch });
  }

  async #plan(gathered: Gathered, records: readonly LogRecord[]): Promise<void> {
    await gathered.foreseen;
    const { draft } = gathered;
    if (draft !== null) await this.#prepare(gathered, (tx) => draft.add(tx, records));
  }

  /** Does a part of the work on a draft. Never rejects. */
  async #prepare(gathered: Gathered, work: (tx: PipelinedClient) => Promise<void>): Promise<void> {
    try {
      await this.#options.database.writers.with(work);
    } catch {
      // Whatever failed fails again, and is dealt with, when the batch is projected in a transaction.
      gathered.draft = null;
    }
  }

  /** Projects records, however long that takes. Never rejects; tells whether it came as in the draft. */
  async #settle(records: readonly LogRecord[], draft: Draft | null): Promise<boolean> {
    const { onProjected } = this.#options;
    let left = records;
    for (let attempt = 1; !this.#ended && left.length > 0; attempt += 1) {
      try {
        if (draft && attempt === 1) {
          await this.#options.database.writers.with((tx) => this.#storeDraft(tx, draft));
          onProjected(left, draft.outcomes);
          return true;
        }
        await projectRecords(this.#target, left, (done, { outcomes }) => onProjected(done, outcomes));
        this.#ahead = { next: left.at(-1)!.offset + 1n, memory: null };
        return false;
      } catch (error) {
        this.#ahead = null;
        left = await this.#recover(left, error as Error);
      }
    }
    return false;
  }

  /** What is left to be done of these records after a failure. Never rejects. */
  async #recover(records: readonly LogRecord[], error: Error): Promise<readonly LogRecord[]> {
    if (error instanceof ProjectionFailed) {
      this.#halt(error.offset, error.cause as Error);
      return [];
    }
    try {
      const left = await this.#notYetProjected(records);
      // What only the draft did wrong, the next attempt does in a transaction.
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

  /** Asks Postgres how far it is: a commit may have taken place although its answer was lost. */
  async #notYetProjected(records: readonly LogRecord[]): Promise<readonly LogRecord[]> {
    const { partition, position, database, onProjected, onLost } = this.#options;
    const { rows } = await database.writers.with((tx) => tx.query(selectEpoch, [partition]));
    const [next, epoch] = rows[0] as [bigint, bigint];
    // Behind the records: somebody has put an older read model into the place of the one that they were to go on in.
    if (epoch !== position.epoch || next < records[0]!.offset) {
      this.#end();
      onLost();
      return [];
    }
    const done = records.filter(({ offset }) => offset < next);
    if (done.length > 0) onProjected(done, null);
    return records.slice(done.length);
  }

  async #storeDraft(tx: PipelinedClient, draft: Draft): Promise<void> {
    const { statement, values } = combine(draft.statements(), 1);
    try {
      await tx.query(statement, values);
    } catch (error) {
      if (isGuardFailure(error)) throw new ProgressMoved('the progress is elsewhere');
      throw error;
    }
  }

  #halt(offset: bigint, error: Error): void {
    this.#end();
    this.#options.onHalted(offset, error);
  }

  #end(): void {
    this.#ended = true;
    this.#pipeline.takeWaiting();
  }
}
