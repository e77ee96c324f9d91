/**
 * A batch that is being decided: its records are decided in log order on the states of all models, and stored together.
 * It may be filled in several steps. Later events see the changes of earlier ones in the states.
 */
import type { Tx } from '../../storage/database/pipelined-client.ts';
import type { BoundStatement } from '../../storage/database/combine.ts';
import type { Event } from '../../language/events/event.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { CommandId } from '../event-log.ts';
import { inSlices, TimeSlices } from '../../language/time-slices.ts';
import { BatchMemory } from './batch-memory.ts';
import { Decider } from './decider.ts';
import type { Entry } from './entry.ts';
import type { KeyReservation } from './local-keys.ts';
import type { AnyModel, Loading } from '../model.ts';
import type { ModelSet, AnyStates } from '../model-set.ts';
import { findOutcomes, storeOutcomes } from '../outcomes/outcomes.store.ts';
import { stillCounts, type RecordedOutcome } from '../outcomes/recorded-outcome.ts';
import { versionsAt, type Versions } from '../progress/versions.ts';
import { UndoJournal } from './undo-journal.ts';

/** The results of a batch by command. A command whose event came after its `notAfter` is in neither collection. */
export interface Decided {
  /** The outcome of each command that was decided. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /**
   * The commands whose events are held, because their teams are in quarantine. They get their outcomes when the teams
   * are released.
   */
  readonly held: ReadonlySet<CommandId>;
}

/** Whether earlier outcomes are looked up for all commands (see `ProjectOptions`). */
export type Duplicates = 'replace' | 'fail';

/** A write that must precede the batch in its transaction. */
export type Write = (tx: Tx) => Promise<void>;

export interface BatchOptions {
  readonly models: ModelSet;
  readonly partition: number;
  readonly duplicates: Duplicates;
  readonly keys: KeyReservation;
  /** The committed state that each model caches. */
  readonly committed: AnyStates;
  /** The memory of the previous batch, if it is known to be valid. */
  readonly memory: BatchMemory | null;
  /** Whether it is decided before its records are known to stand there. */
  readonly isAhead: boolean;
}

export class Batch {
  /** The outcome of each command. A command whose event came after its `notAfter` has none. */
  readonly outcomes = new Map<CommandId, Outcome>();
  readonly #options: BatchOptions;
  readonly #states: AnyStates;
  readonly #decider: Decider;
  /** Outcomes recorded before this batch, and the new ones. */
  readonly #recorded = new Map<CommandId, RecordedOutcome>();
  readonly #fresh = new Map<CommandId, RecordedOutcome>();

  constructor(options: BatchOptions) {
    this.#options = options;
    const journal = new UndoJournal();
    this.#states = options.models.open(() => options.keys.take(), journal);
    this.#decider = new Decider(options.models, this.#states, journal);
  }

  /**
   * Loads the look-ups of these events. Resolves to the writes that the storing transaction must do before it stores
   * the batch. Call `decide` next.
   */
  async load(tx: Tx, run: readonly Entry[]): Promise<readonly Write[]> {
    const looksUpAll = this.#options.duplicates === 'replace';
    const events = run.map(({ event }) => event);
    const commandIds = events
      .filter(({ requestDigest }) => looksUpAll || requestDigest !== null)
      .map(({ commandId }) => commandId);
    return this.#load(tx, events, commandIds);
  }

  /**
   * Preloads the look-ups of events that are likely to follow. Harmless if other events come before or instead of them.
   */
  async loadAhead(tx: Tx, events: readonly Event[]): Promise<void> {
    // The earlier outcome of an Idempotency-Key is looked up only once the event is there.
    const likely = events.filter(
      ({ data, requestDigest }) => requestDigest === null && this.#options.models.loadsAhead(data),
    );
    if (likely.length > 0) await this.#load(tx, likely, []);
  }

  async #load(tx: Tx, events: readonly Event[], commandIds: readonly CommandId[]): Promise<readonly Write[]> {
    const { models, partition, keys, committed, memory, isAhead } = this.#options;
    const writes: Write[] = [];
    const loaded = events.flatMap((event) => models.loadedFor(event));
    const loadings = models.list.map(([name, model]): readonly [AnyModel, Loading<AnyStates, unknown, unknown>] => [
      model,
      {
        tx,
        events: loaded,
        keys,
        states: this.#states,
        before: memory?.before ?? null,
        remembered: memory?.remembered[name] ?? null,
        committed: committed[name],
        isAhead,
        writeFirst: (write) => writes.push(write),
      },
    ]);
    const [recorded] = await Promise.all([
      commandIds.length === 0 ? [] : findOutcomes(tx, partition, commandIds),
      keys.reserve(
        tx,
        events.reduce((sum, { data }) => sum + models.keysAtMost(data), 0),
      ),
      ...loadings.map(([model, loading]) => model.load?.(loading)),
    ]);
    for (const outcome of recorded) this.#recorded.set(outcome.commandId, outcome);
    // An event that may load much begins a run, so everything that it depends on is already decided.
    const refused = events.filter(({ data }) => models.loadsMuch(data) && models.isRefused(this.#states, data));
    const remaining =
      refused.length === 0
        ? loaded
        : events.filter((event) => !refused.includes(event)).flatMap((event) => models.loadedFor(event));
    for (const [model, loading] of loadings) await model.loadMore?.({ ...loading, events: remaining });
    return writes;
  }

  /**
   * Decides events in their order. `before` has the versions of the partition before them; resolves to the versions
   * after them. While the many changes of an import are applied, other work runs in between. `tx`: as for `load`.
   */
  async decide(tx: Tx, run: readonly Entry[], before: Versions): Promise<Versions> {
    const slices = new TimeSlices();
    let versions = before;
    for (const { record, event } of run) {
      versions = versionsAt(event, record.offset, versions);
      const { commandId, notAfter, requestDigest } = event;
      const earlier = this.#outcomeBefore(commandId);
      if (earlier && stillCounts(earlier, record.time)) {
        this.outcomes.set(commandId, earlier.outcome);
        continue;
      }
      if (notAfter !== null && record.time > notAfter) continue;

      const { partition, offset, time } = record;
      const decided = await this.#decider.decide(
        event,
        { partition, offset, version: versions.base + offset, gaps: versions.gaps, time },
        slices,
        async (lacking) => void (await this.#load(tx, [lacking], [])),
      );
      const outcome = { ...decided, requestDigest: requestDigest ?? undefined };
      this.outcomes.set(commandId, outcome);
      this.#fresh.set(commandId, { commandId, offset, time, outcome });
    }
    return versions;
  }

  /** The net changes of all models, and the outcomes. */
  async changes(): Promise<BoundStatement[]> {
    const { models, partition, duplicates } = this.#options;
    const changes: BoundStatement[] = [];
    for (const [name, model] of models.list) {
      for (const binding of model.store(this.#states[name])) changes.push(await inSlices(binding));
    }
    if (this.#fresh.size === 0) return changes;
    return [...changes, storeOutcomes(partition, [...this.#fresh.values()], duplicates)];
  }

  /**
   * The memory for the next batch: what it need not load, and what it cannot read from Postgres yet. Null if that is
   * too much to remember. Call it once, after the last decision.
   */
  memory(): BatchMemory | null {
    const { models, memory } = this.#options;
    const remembered: Record<string, unknown> = {};
    for (const [name, model] of models.list) {
      if (model.remember === undefined) continue;
      remembered[name] = model.remember(memory?.remembered[name] ?? null, this.#states[name]);
      if (remembered[name] === null) return null;
    }
    return new BatchMemory(this.#states, this.#fresh, remembered);
  }

  #outcomeBefore(commandId: CommandId): RecordedOutcome | undefined {
    return this.#fresh.get(commandId) ?? this.#options.memory?.outcome(commandId) ?? this.#recorded.get(commandId);
  }
}
