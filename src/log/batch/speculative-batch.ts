/**
 * A batch that is decided ahead, event by event as they arrive, for the offset that it will have if nobody else writes.
 * It is valid only if the progress is at that offset, after the same record, when the batch is stored. This suffices
 * because the inputs of decisions change only when the progress moves.
 */
import type { Tx } from '../../storage/database/pipelined-client.ts';
import type { BoundStatement } from '../../storage/database/combine.ts';
import { type Event } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { CommandId, LogRecord } from '../event-log.ts';
import { hashOf } from '../identity.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { Batch, Decided } from './batch.ts';
import { toEntry, withoutHeld, type Entry } from './entry.ts';
import { runsOf } from './cuts.ts';
import type { ModelSet } from '../model-set.ts';
import { advanceProgress } from '../progress/advance.ts';
import { changesVersions, type Versions } from '../progress/versions.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';

/** The inputs of decisions and look-ups of a partition besides its state. */
export interface Mark {
  readonly versions: Versions;
  readonly layout: bigint;
  /** Teams in quarantine: the projector does not load or decide their events. */
  readonly held: HeldTeams;
}

/** The place of a partition once all its batches so far have landed. */
export interface ProgressAhead {
  /** The offset of the next record, and the hash of the record before it. */
  readonly next: bigint;
  readonly lastHash: Uint8Array;
  readonly memory: BatchMemory | null;
}

interface SpeculativeBatchOptions extends Mark {
  readonly models: ModelSet;
  readonly batch: Batch;
  readonly partition: number;
  readonly after: ProgressAhead;
  readonly epoch: bigint;
}

export class SpeculativeBatch implements Decided {
  readonly #options: SpeculativeBatchOptions;
  readonly #entries: Entry[] = [];
  readonly held = new Set<CommandId>();
  #lastHash: Uint8Array | null = null;

  constructor(options: SpeculativeBatchOptions) {
    this.#options = options;
  }

  /** The layout under which its rows were loaded. */
  get layout(): bigint {
    return this.#options.layout;
  }

  /** The offset after its last record. */
  get end(): bigint {
    return this.#options.after.next + BigInt(this.#entries.length);
  }

  get records(): readonly LogRecord[] {
    return this.#entries.map(({ record }) => record);
  }

  /** The same map object for the life of the batch. */
  get outcomes(): ReadonlyMap<CommandId, Outcome> {
    return this.#options.batch.outcomes;
  }

  /** Preloads the look-ups of events that are likely to be added. Discard the batch if this throws. */
  async loadAhead(reader: Tx, events: readonly Event[]): Promise<void> {
    await this.#options.batch.loadAhead(
      reader,
      events.filter(({ data }) => !this.#options.held.since.has(teamOf(data))),
    );
  }

  /**
   * Decides the records from `end` on. Throws if one of them reads stored rows (`readsStored`), needs a prior write, or
   * raises the base. Discard the batch if this throws.
   */
  async add(reader: Tx, records: readonly LogRecord[]): Promise<void> {
    const { models, batch, versions, held } = this.#options;
    const entries = records.map(toEntry);
    const [active, commands] = withoutHeld(entries, held);
    const late = active.find(({ event }) => models.readsStored(event.data));
    if (late) throw new Error(`${late.event.data.type} reads stored rows, and cannot be decided ahead`);
    if (changesVersions(entries)) throw new Error('an event raises the base, and cannot be decided ahead');
    for (const run of active.length === 0 ? [] : runsOf(models, active)) {
      const writes = await batch.load(reader, run);
      if (writes.length > 0) throw new Error('rows of an event were not written ahead');
      await batch.decide(reader, run, versions);
    }
    for (const command of commands) this.held.add(command);
    this.#entries.push(...entries);
  }

  /**
   * The changes of the batch, the progress first. Run them as one statement, or in one transaction. Call it after the
   * last `add`.
   */
  async statements(): Promise<readonly BoundStatement[]> {
    const { batch, partition, epoch, layout, after } = this.#options;
    const assumed = { layout, hashBefore: after.lastHash };
    return [
      advanceProgress({ partition, entries: this.#entries, lastHash: this.#hash(), epoch, assumed }),
      ...(await batch.changes()),
    ];
  }

  /**
   * The place of the partition after this batch, and the memory for the next batch. Null if the next batch must wait
   * until this one is stored. Call it once, after the last `add`.
   */
  ahead(): ProgressAhead | null {
    const memory = this.#options.batch.memory();
    return memory && { next: this.end, lastHash: this.#hash(), memory };
  }

  #hash(): Uint8Array {
    this.#lastHash ??= hashOf(this.#entries.at(-1)!.record);
    return this.#lastHash;
  }
}
