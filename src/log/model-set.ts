/** A list of models, indexed by the events that they decide and by the changes that they apply. */
import type { Event, EventData, EventType } from '../language/events/event.ts';
import { profileOf } from '../language/events/event-names.ts';
import { apply, type AnyChange, type Decide, type Decision, type LogPlace } from './batch/decision.ts';
import type { Sequence } from './batch/sequence.ts';
import type { AnyModel, Models } from './model.ts';
import type { UndoJournal } from './batch/undo-journal.ts';

/** The states of a batch, by the names of their models. */
export type AnyStates = Readonly<Record<string, unknown>>;

const lineFeed = 10;

type AnyDecide = Decide<AnyStates, EventData, AnyChange>;
type AnySequence = Sequence<EventData, AnyStates, AnyChange>;
type TakeChange = (states: AnyStates, change: AnyChange) => void;

export class ModelSet {
  readonly list: readonly (readonly [name: string, model: AnyModel])[];
  readonly #decisions = new Map<string, AnyDecide>();
  readonly #sequences = new Map<string, AnySequence>();
  readonly #changes = new Map<string, TakeChange[]>();
  /**
   * The parts of events that were split. The loader's results are stored by part, so the decision must see the same
   * objects.
   */
  readonly #parts = new WeakMap<Event, readonly Event[]>();
  readonly #contents = new WeakMap<EventData, readonly EventData[]>();
  /** The definitions of the models that every event needs. */
  readonly #asked: {
    readonly [
      Hook in 'keysAtMost' | 'needs' | 'makes' | 'loadsMuch' | 'isRefused' | 'lacks' | 'readsStored' | 'storesMuch'
    ]: readonly NonNullable<AnyModel[Hook]>[];
  };
  readonly #loadsAhead: ReadonlySet<EventType>;

  constructor(models: Models) {
    this.list = Object.entries(models);
    const all = this.list.map(([, model]) => model);
    for (const model of all) {
      for (const [type, decide] of Object.entries(model.decisions as Record<string, AnyDecide>)) {
        this.#refuseSecond(type);
        this.#decisions.set(type, decide);
      }
      for (const [type, sequence] of Object.entries((model.sequences ?? {}) as Record<string, AnySequence>)) {
        this.#refuseSecond(type);
        this.#sequences.set(type, sequence);
      }
      for (const [kind, take] of Object.entries(model.changes as Record<string, TakeChange>)) {
        this.#changes.set(kind, [...(this.#changes.get(kind) ?? []), take]);
      }
    }
    this.#asked = {
      keysAtMost: all.flatMap(({ keysAtMost = [] }) => keysAtMost),
      needs: all.flatMap(({ needs = [] }) => needs),
      makes: all.flatMap(({ makes = [] }) => makes),
      loadsMuch: all.flatMap(({ loadsMuch = [] }) => loadsMuch),
      isRefused: all.flatMap(({ isRefused = [] }) => isRefused),
      lacks: all.flatMap(({ lacks = [] }) => lacks),
      readsStored: all.flatMap(({ readsStored = [] }) => readsStored),
      storesMuch: all.flatMap(({ storesMuch = [] }) => storesMuch),
    };
    this.#loadsAhead = new Set(all.flatMap(({ loadsAhead = [] }) => loadsAhead));
  }

  #refuseSecond(type: string): void {
    if (this.#decisions.has(type) || this.#sequences.has(type)) throw new Error(`two models decide ${type}`);
  }

  /** Opens the states of a batch. */
  open(newKey: () => bigint, journal: UndoJournal): AnyStates {
    return Object.fromEntries(this.list.map(([name, model]) => [name, model.open(newKey, journal)]));
  }

  /** Opens the caches of the committed state. */
  openCommitted(): AnyStates {
    return Object.fromEntries(this.list.map(([name, model]) => [name, model.openCommitted?.() ?? null]));
  }

  /** The sequence that decides an event of several parts; null for other events. */
  sequenceOf({ type }: EventData): AnySequence | null {
    return this.#sequences.get(type) ?? null;
  }

  /** The parts of an event; for an event without parts, the event itself. */
  partsOf(event: Event): readonly Event[] {
    const sequence = this.sequenceOf(event.data);
    if (sequence === null) return [event];
    let parts = this.#parts.get(event);
    if (parts === undefined) {
      parts = withBodies(event, this.#partsOfData(event.data));
      this.#parts.set(event, parts);
    }
    return parts;
  }

  /** The events to load for an event: its parts and, if it is opened before them, the event itself. */
  loadedFor(event: Event): readonly Event[] {
    const parts = this.partsOf(event);
    return this.sequenceOf(event.data)?.open === undefined ? parts : [event, ...parts];
  }

  #partsOfData(data: EventData): readonly EventData[] {
    const sequence = this.sequenceOf(data);
    if (sequence === null) return [data];
    let parts = this.#contents.get(data);
    if (parts === undefined) {
      parts = sequence.partsOf(data);
      this.#contents.set(data, parts);
    }
    return parts;
  }

  /**
   * Decides one event without parts. Throws only on bugs, and if no model knows the type, such as that of a newer
   * version.
   */
  decide(states: AnyStates, event: Event, at: LogPlace): Decision {
    const { type } = event.data;
    // The projector itself reads these events, when it advances the progress.
    if (type === 'GenerationStarted' || type === 'LogResumed') return apply([]);
    const decide = this.#decisions.get(type);
    if (!decide) throw new Error(`an event of the unknown type ${type}`);
    return decide(states, event, at);
  }

  /** Whether a model decides events of this type. */
  decides({ type }: EventData): boolean {
    return this.#decisions.has(type) || this.#sequences.has(type);
  }

  /** Applies a change of a decision to the states, where later events and `store` find it. */
  apply(states: AnyStates, change: AnyChange): void {
    const followers = this.#changes.get(change.kind);
    if (!followers) throw new Error(`a change of the unknown kind ${change.kind}`);
    for (const take of followers) take(states, change);
  }

  keysAtMost(data: EventData): number {
    return this.#partsOfData(data).reduce(
      (sum, part) => this.#asked.keysAtMost.reduce((ofPart, keysAtMost) => ofPart + keysAtMost(part), sum),
      0,
    );
  }

  needs(data: EventData): string[] {
    return this.#partsOfData(data).flatMap((part) => this.#asked.needs.flatMap((needs) => needs(part)));
  }

  makes(data: EventData): string[] {
    return this.#partsOfData(data).flatMap((part) => this.#asked.makes.flatMap((makes) => makes(part)));
  }

  loadsMuch(data: EventData): boolean {
    return this.#partsOfData(data).some((part) => this.#asked.loadsMuch.some((loadsMuch) => loadsMuch(part)));
  }

  isRefused(states: AnyStates, data: EventData): boolean {
    // Only the first part: the changes of earlier parts may let a later one pass.
    const [first] = this.#partsOfData(data);
    return first !== undefined && this.#asked.isRefused.some((isRefused) => isRefused(states, first));
  }

  /** Whether the decision of an event, which consists of no others, would look up something that is not loaded. */
  lacks(states: AnyStates, event: Event): boolean {
    return this.#asked.lacks.some((lacks) => lacks(states, event));
  }

  /** Whether such an event is loaded only after everything before it is stored. */
  readsStored(data: EventData): boolean {
    return this.#partsOfData(data).some((part) => this.#asked.readsStored.some((readsStored) => readsStored(part)));
  }

  /** Whether such an event may store so much that nothing that follows is decided in its batch. */
  storesMuch(data: EventData): boolean {
    return this.#partsOfData(data).some((part) => this.#asked.storesMuch.some((storesMuch) => storesMuch(part)));
  }

  /** Whether such an event is worth loading while it is still on its way into the log. */
  loadsAhead(data: EventData): boolean {
    return this.#partsOfData(data).some(({ type }) => this.#loadsAhead.has(type));
  }
}

/** Parts of an event, each with its own rows of the event's body. The body is decompressed once, when rows are read. */
function withBodies(event: Event, contents: readonly EventData[]): Event[] {
  let whole: { readonly bytes: Uint8Array; readonly ends: readonly number[] } | undefined;
  let rowsBefore = 0;
  return contents.map((data) => {
    const first = rowsBefore;
    const end = (rowsBefore += profileOf(data)?.rows ?? 0);
    const body = (): Uint8Array => {
      whole ??= splitRows(event.body());
      const { bytes, ends } = whole;
      return first === end
        ? bytes.subarray(0, 0)
        : bytes.subarray(first === 0 ? 0 : ends[first - 1]! + 1, ends[end - 1]);
    };
    return { ...event, data, body };
  });
}

/** The end of each row, in rows that line feeds separate. */
function splitRows(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly ends: readonly number[] } {
  const ends: number[] = [];
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) ends.push(at);
  return { bytes, ends: [...ends, bytes.length] };
}
