/**
 * Savepoints for the states of a batch. A decision that consists of several applies the changes of each part before it
 * decides the next. If one part is refused, the changes of all parts are undone (docs/decisions/0072). While a
 * savepoint is set, the containers of states record how to undo their changes. While none is set, this costs them only
 * a check of the journal.
 */
export class UndoJournal {
  #undos: (() => void)[] | null = null;
  #savepoint = 0;

  /** From here on changes can be undone. Throws if a savepoint is already set: savepoints do not nest. */
  setSavepoint(): void {
    if (this.#undos !== null) throw new Error('a savepoint is already set');
    this.#undos = [];
    this.#savepoint += 1;
  }

  /** Keeps the changes since the savepoint. */
  release(): void {
    this.#undos = null;
  }

  /** Undoes the changes since the savepoint, the newest first. */
  rollBack(): void {
    const undos = this.#undos ?? [];
    // Undoing changes the containers again; these changes must not be recorded.
    this.#undos = null;
    for (const undo of undos.toReversed()) undo();
  }

  /** The number of the last savepoint. */
  get savepoint(): number {
    return this.#savepoint;
  }

  /** Whether changes are recorded. */
  get isNoting(): boolean {
    return this.#undos !== null;
  }

  note(undo: () => void): void {
    this.#undos?.push(undo);
  }

  /** Appends to a list that only grows. */
  push<T>(list: T[], item: T): void {
    list.push(item);
    if (this.isNoting) this.note(() => list.pop());
  }
}

/**
 * A map whose changes can be undone. It notes only the first change of a key since a savepoint, so that the journal
 * keeps one value of each key, however often a sequence changes it.
 */
export class UndoMap<K, V> extends Map<K, V> {
  readonly #journal: UndoJournal;
  /** The keys that were noted since the savepoint with this number. */
  #noted: { readonly savepoint: number; readonly keys: Set<K> } | null = null;

  constructor(journal: UndoJournal) {
    super();
    this.#journal = journal;
  }

  override set(key: K, value: V): this {
    if (this.#journal.isNoting) this.#noteBefore(key);
    return super.set(key, value);
  }

  override delete(key: K): boolean {
    if (this.#journal.isNoting && this.has(key)) this.#noteBefore(key);
    return super.delete(key);
  }

  #noteBefore(key: K): void {
    const { savepoint } = this.#journal;
    if (this.#noted?.savepoint !== savepoint) this.#noted = { savepoint, keys: new Set() };
    if (this.#noted.keys.has(key)) return;
    this.#noted.keys.add(key);
    const before = this.get(key);
    const had = before !== undefined || this.has(key);
    this.#journal.note(() => (had ? this.set(key, before as V) : this.delete(key)));
  }
}

/** A set whose changes can be undone. */
export class UndoSet<T> extends Set<T> {
  readonly #journal: UndoJournal;

  constructor(journal: UndoJournal) {
    super();
    this.#journal = journal;
  }

  override add(value: T): this {
    if (this.#journal.isNoting && !this.has(value)) this.#journal.note(() => this.delete(value));
    return super.add(value);
  }
}
