/** The stashes and chunks of a batch: as loaded, and as changed by the events decided so far. */
import { PairMap } from '../../src/log/batch/pair-map.ts';
import { UndoMap, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { SegmentStates } from '../segments/segments.state.ts';
import type { StashContent } from './stash-content.ts';
import type { Stash, ChunkSize, Chunk, ChunkChange } from './stash.ts';

/** The states that decisions about stashes read. */
export interface StashStates extends SegmentStates {
  readonly stashes: StashesState;
}

export class StashesState {
  readonly #journal: UndoJournal;
  readonly #takeKey: () => bigint;
  readonly #newKeys = new Set<bigint>();
  readonly #stashes: PairMap<string, string, Stash>;
  readonly #chunks: PairMap<bigint, string, ChunkSize>;
  readonly #contents = new Map<bigint, StashContent>();
  readonly #changedStashes: Map<bigint, Stash>;
  /** New chunks by stash and serial, and the keys of stored chunks that were replaced. */
  readonly #newChunks: PairMap<bigint, string, Chunk>;
  readonly replacedChunks: bigint[] = [];

  constructor(takeKey: () => bigint, journal: UndoJournal) {
    this.#journal = journal;
    this.#takeKey = takeKey;
    this.#stashes = new PairMap(journal);
    this.#chunks = new PairMap(journal);
    this.#changedStashes = new UndoMap(journal);
    this.#newChunks = new PairMap(journal);
  }

  /** A key for a new object. If the key is taken after all, storing the batch fails. */
  newKey(): bigint {
    const key = this.#takeKey();
    this.#newKeys.add(key);
    return key;
  }

  /** The newest stash of this name, even if it has ended. */
  stash(teamId: string, stashId: string): Stash | null {
    return this.#stashes.get(teamId, stashId) ?? null;
  }

  /** The chunk of a stash with this serial. */
  chunk(stash: bigint, serial: string): ChunkSize | null {
    return this.#chunks.get(stash, serial) ?? null;
  }

  /** The whole content of a stash. Throws if it was not loaded. */
  content(stash: bigint): StashContent {
    const content = this.#contents.get(stash);
    if (content === undefined) throw new Error(`the content of stash ${stash} was not loaded`);
    return content;
  }

  put(stash: Stash): void {
    this.#stashes.set(stash.teamId, stash.stashId, stash);
  }

  /** Does not replace a known chunk, which is at least as new. */
  putChunk(chunk: ChunkSize): void {
    if (this.chunk(chunk.stash, chunk.serial) === null) this.#chunks.set(chunk.stash, chunk.serial, chunk);
  }

  putContent(stash: bigint, content: StashContent): void {
    this.#contents.set(stash, content);
  }

  change(stash: Stash): void {
    this.put(stash);
    this.#changedStashes.set(stash.key, stash);
  }

  changeChunk({ chunk, replaces }: ChunkChange): void {
    const isNew = this.#newChunks.get(chunk.stash, chunk.serial) !== undefined;
    if (replaces !== null && !isNew) this.#journal.push(this.replacedChunks, replaces);
    this.#newChunks.set(chunk.stash, chunk.serial, chunk);
    this.#chunks.set(chunk.stash, chunk.serial, chunk);
  }

  /** Changed stashes that existed before. */
  changedStashes(): Stash[] {
    return [...this.#changedStashes.values()].filter(({ key }) => !this.#newKeys.has(key));
  }

  newStashes(): Stash[] {
    return [...this.#changedStashes.values()].filter(({ key }) => this.#newKeys.has(key));
  }

  /** The chunks that were added in this batch. */
  newChunks(): Chunk[] {
    return this.#newChunks.values();
  }

  newChunksOf(stash: bigint): Chunk[] {
    return this.#newChunks.valuesOf(stash);
  }
}
