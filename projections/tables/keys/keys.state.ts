/** The rows that have the keys which the events of a batch look up: as loaded, with the changes of earlier events. */
import type { Event } from '../../../src/language/events/event.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import { PairMap } from '../../../src/log/batch/pair-map.ts';
import type { UndoJournal } from '../../../src/log/batch/undo-journal.ts';
import type { KeyRuns } from './key-runs.ts';
import type {
  ChangesOfPrepared,
  EndedKeyChange,
  KeyHolder,
  KeyIndex,
  KeyRunsChange,
  KeysChange,
  PreparedKeysChange,
} from './key-changes.ts';

/** The keys that the projector read from many rows, or the refusal if two are equal. */
export type FoundRuns = { readonly runs: KeyRuns; readonly extents: readonly bigint[] } | { readonly refusal: Refusal };

/**
 * What the projector found of the keys of a table that an event declares. `prepared`: an index has them but for these
 * changes. `unread`: the rows are too many to be read at the event, and too many have changed since they were read.
 */
export type FoundKeys = FoundRuns | { readonly prepared: ChangesOfPrepared } | { readonly unread: true };

/** A key whose holder has changed. */
export interface ChangedKey extends KeyIndex {
  readonly text: string;
  /** Null: no row has it now. */
  readonly holder: KeyHolder | null;
}

interface Entry extends ChangedKey {
  /** Whether a stored row had the key before this batch. */
  readonly wasHeld: boolean;
  readonly isChanged: boolean;
}

export class KeysState {
  readonly #journal: UndoJournal;
  /** By index and text. */
  readonly #entries: PairMap<string, string, Entry>;
  readonly endedKeys: KeyIndex[] = [];
  readonly newRuns: KeyRunsChange[] = [];
  readonly takenIndexes: PreparedKeysChange[] = [];
  /** Loaded entries are never removed. */
  readonly #found = new Map<Event, FoundRuns>();
  readonly #foundOfTables = new Map<Event, FoundKeys>();

  constructor(journal: UndoJournal) {
    this.#journal = journal;
    this.#entries = new PairMap(journal);
  }

  /** The row that has this key; null if there is no such row. Throws if the key was not loaded, which is a bug. */
  holder(index: KeyIndex, text: string): KeyHolder | null {
    const holder = this.find(index, text);
    if (holder === undefined) throw new Error(`a key of table ${index.tableId} was not loaded`);
    return holder;
  }

  /** Like `holder`, but returns undefined if the key was not loaded. */
  find(index: KeyIndex, text: string): KeyHolder | null | undefined {
    const entry = this.#entries.get(nameOf(index), text);
    return entry === undefined ? undefined : entry.holder;
  }

  /** Adds a loaded key. */
  put({ tableId, since }: KeyIndex, text: string, holder: KeyHolder | null): void {
    const entry = { tableId, since, text, holder, wasHeld: holder !== null, isChanged: false };
    this.#entries.set(nameOf(entry), text, entry);
  }

  change({ tableId, since, freed, taken }: KeysChange): void {
    // A key that a row gives up may be one that no event looked up.
    for (const text of freed) this.#set({ tableId, since, text, holder: null }, true);
    for (const [text, holder] of taken) this.#set({ tableId, since, text, holder }, false);
  }

  /** `wasHeld`: whether a stored row had the key, unless the key has a change already. */
  #set(changed: ChangedKey, wasHeld: boolean): void {
    const name = nameOf(changed);
    const before = this.#entries.get(name, changed.text);
    this.#entries.set(name, changed.text, { ...changed, wasHeld: before?.wasHeld ?? wasHeld, isChanged: true });
  }

  /** The result of loading the many rows of an event. Throws if they were not loaded, which is a bug. */
  foundRuns(event: Event): FoundRuns {
    const found = this.#found.get(event);
    if (found === undefined) throw new Error('the keys of the rows of an event were not loaded');
    return found;
  }

  putFoundRuns(event: Event, found: FoundRuns): void {
    this.#found.set(event, found);
  }

  /** The result of loading the keys of all rows of a table. Throws if they were not loaded, which is a bug. */
  foundKeys(event: Event): FoundKeys {
    const found = this.#foundOfTables.get(event);
    if (found === undefined) throw new Error('the keys of the rows of a table were not loaded');
    return found;
  }

  putFoundKeys(event: Event, found: FoundKeys): void {
    this.#foundOfTables.set(event, found);
  }

  addRuns(change: KeyRunsChange): void {
    this.#journal.push(this.newRuns, change);
  }

  takeIndex(change: PreparedKeysChange): void {
    this.#journal.push(this.takenIndexes, change);
  }

  end({ tableId, since }: EndedKeyChange): void {
    this.#journal.push(this.endedKeys, { tableId, since });
  }

  // The changes to store.

  /** Keys that no stored row had before. */
  newKeys(): (ChangedKey & { readonly holder: KeyHolder })[] {
    return this.#changed()
      .filter(isHeld)
      .filter(({ wasHeld }) => !wasHeld);
  }

  /** Keys that another row has now, or the same row at another place. */
  movedKeys(): (ChangedKey & { readonly holder: KeyHolder })[] {
    return this.#changed()
      .filter(isHeld)
      .filter(({ wasHeld }) => wasHeld);
  }

  /** Keys that a stored row had, and that no row has now. */
  freedKeys(): ChangedKey[] {
    return this.#changed().filter(({ holder, wasHeld }) => holder === null && wasHeld);
  }

  #changed(): Entry[] {
    return this.#entries.values().filter(({ isChanged }) => isChanged);
  }
}

function isHeld<E extends ChangedKey>(entry: E): entry is E & { readonly holder: KeyHolder } {
  return entry.holder !== null;
}

function nameOf({ tableId, since }: KeyIndex): string {
  return `${tableId} ${since}`;
}
