/**
 * A batch in the making: records that are decided in the log's order over one state, and stored together. It may be
 * filled in several steps; what a later event needs of an earlier one it finds in the state.
 */
import type { BoundStatement } from '../src/database/combine.ts';
import type { PipelinedClient } from '../src/database/pipelined-client.ts';
import type { Event } from '../src/events/event.ts';
import type { Outcome } from '../src/events/outcome.ts';
import { fileNamesIn } from '../src/files/file-name.ts';
import type { CommandId, LogRecord } from '../src/log/event-log.ts';
import { BatchMemory } from './batch-memory.ts';
import { BatchState } from './batch-state.ts';
import { decide } from './decide.ts';
import { stillCounts, storeOutcomes, type RecordedOutcome } from './outcomes/outcomes.store.ts';
import { prefetch } from './prefetch.ts';
import type { SegmentContent } from './segments/fill-segment.ts';
import type { KeyReservation } from './segments/local-keys.ts';
import { storeKeptIds } from './segments/kept-ids.store.ts';
import { storeBodyBlocks } from './segments/segments.store.ts';
import { storeChunks, storeReplaced, storeStashes } from './stashes/stashes.store.ts';
import type { SchemaCache } from './tables/schema-cache.ts';
import { storeChanges, storeLinks, storeTailRows, type TailRow } from './tables/links.store.ts';
import { insertNewTables, storeAppLinks, storeGenerations, storeSchemas, storeTables } from './tables/tables.store.ts';
import { storeTeams, storeTokens } from './teams/teams.store.ts';
import {
  removeChangeReferences, storeChangeReferences, storeFileReferences, type SegmentReference,
} from './uploads/file-references.store.ts';
import { storeUploads } from './uploads/uploads.store.ts';

/** A record, and the event that its bytes hold. */
export interface Entry {
  readonly record: LogRecord;
  readonly event: Event;
}

/** Whether a command's earlier outcome is looked up for all of them (ProjectOptions). */
export type Duplicates = 'replace' | 'fail';

export interface BatchOptions {
  readonly partition: number;
  readonly duplicates: Duplicates;
  readonly keys: KeyReservation;
  readonly schemas: SchemaCache;
  /** What the batch before left, where that is known to be right. */
  readonly memory: BatchMemory | null;
}

export class Batch {
  /** The outcome of each command; none for an event that came after its `notAfter`. */
  readonly outcomes = new Map<CommandId, Outcome>();
  readonly #options: BatchOptions;
  readonly #state: BatchState;
  /** Outcomes from before this batch, and those that are new in it. */
  readonly #recorded = new Map<CommandId, RecordedOutcome>();
  readonly #fresh = new Map<CommandId, RecordedOutcome>();

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#state = new BatchState(() => options.keys.take());
  }

  /**
   * Fetches what these events need, and gives the segments among them that nobody has written yet. Those must be written
   * by the transaction that stores the batch. To be followed by `decide`.
   */
  async fetch(tx: Pick<PipelinedClient, 'query'>, run: readonly Entry[]): Promise<readonly SegmentContent[]> {
    const { partition, duplicates, keys, schemas, memory } = this.#options;
    const events = run.map((entry) => entry.event);
    const options = { keys, schemas, memory, allOutcomes: duplicates === 'replace' };
    const { outcomes, toFill } = await prefetch(tx, partition, events, this.#state, options);
    for (const outcome of outcomes) this.#recorded.set(outcome.commandId, outcome);
    return toFill;
  }

  /** Fetches ahead what an event will need that is likely to follow. It does no harm if others come before it, or instead. */
  async foresee(tx: Pick<PipelinedClient, 'query'>, events: readonly Event[]): Promise<void> {
    const { partition, keys, schemas, memory } = this.#options;
    // Rows are what has to be fetched; the rest is remembered mostly. A key's earlier outcome is looked up when it has come.
    const patches = events.filter(({ data, requestDigest }) => 'row' in data && requestDigest === null);
    if (patches.length === 0) return;
    await prefetch(tx, partition, patches, this.#state, { keys, schemas, memory, allOutcomes: false });
  }

  /** Decides events in their order; `base` is that of the partition. */
  decide(run: readonly Entry[], base: bigint): void {
    for (const { record, event } of run) {
      const { commandId, notAfter, requestDigest } = event;
      const before = this.#outcomeBefore(commandId);
      if (before && stillCounts(before, record.time)) {
        this.outcomes.set(commandId, before.outcome);
        continue;
      }
      if (notAfter !== null && record.time > notAfter) continue;

      const { partition, offset, time } = record;
      const decision = decide(this.#state, event, { partition, offset, version: base + offset, time });
      this.#state.apply(decision.changes);
      const outcome = { ...decision.outcome, requestDigest: requestDigest ?? undefined };
      this.outcomes.set(commandId, outcome);
      this.#fresh.set(commandId, { commandId, offset, time, outcome });
    }
  }

  /** The net changes: a statement for each kind of thing that changed. */
  changes(): BoundStatement[] {
    const { partition, duplicates } = this.#options;
    const state = this.#state;
    const { changed } = state;
    const parts: BoundStatement[] = [];
    const add = <T>(things: readonly T[], bindThem: (things: readonly T[]) => BoundStatement): void => {
      if (things.length > 0) parts.push(bindThem(things));
    };
    add(state.changedTeams(), storeTeams);
    add(state.changedTokens(), storeTokens);
    add(state.newTables(), insertNewTables);
    add(state.changedTables(), storeTables);
    add(changed.schemas, storeSchemas);
    add(changed.appLinks, storeAppLinks);
    add(state.changedLinks(), storeLinks);
    add(changed.generations, storeGenerations);
    add(changed.tailRows, storeTailRows);
    add(changed.tailRows.flatMap(referencesOf), storeFileReferences);
    add(changed.keptIds, storeKeptIds);
    add(state.changedRows(), storeChanges);
    add(changed.references.named(), storeChangeReferences);
    add(changed.references.gone(), removeChangeReferences);
    add(changed.bodyBlocks, storeBodyBlocks);
    add([...changed.stashes.values()], storeStashes);
    add(changed.chunks.values(), storeChunks);
    add(changed.replacedChunks, storeReplaced);
    add([...changed.uploads.values()], storeUploads);
    add([...this.#fresh.values()], (things) => storeOutcomes(partition, things, duplicates));
    return parts;
  }

  /** What the next batch need not fetch, and may not be able to. To be called once, when all is decided. */
  memory(): BatchMemory {
    return new BatchMemory(this.#state, this.#fresh, this.#options.memory);
  }

  #outcomeBefore(commandId: CommandId): RecordedOutcome | undefined {
    return this.#fresh.get(commandId) ?? this.#options.memory?.outcome(commandId) ?? this.#recorded.get(commandId);
  }
}

function referencesOf({ teamId, segment, index, body }: TailRow): SegmentReference[] {
  return fileNamesIn(body).map((file) => ({ teamId, segment, index, file }));
}
