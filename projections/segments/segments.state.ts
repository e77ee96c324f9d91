/** The segments that the events of a batch name, and the blocks of large bodies. */
import { UndoMap, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { TeamStates } from '../teams/teams.state.ts';
import type { BodyBlock, BodyBlockChange, OpenBody, OpenBodyChange } from './body-block.ts';

/** The states that decisions about segments read. */
export interface SegmentStates extends TeamStates {
  readonly segments: SegmentsState;
}

export class SegmentsState {
  readonly #journal: UndoJournal;
  readonly #keys: Map<string, bigint>;
  readonly #bodyBlocks = new Map<string, Map<number, BodyBlock>>();
  readonly changedBlocks: BodyBlock[] = [];
  /** Bodies by ID; null: known not to be open. */
  readonly #bodies: Map<string, OpenBody | null>;
  readonly #opened: Map<string, OpenBody>;
  readonly #closed: Map<string, OpenBody>;

  constructor(journal: UndoJournal) {
    this.#journal = journal;
    this.#keys = new UndoMap(journal);
    this.#bodies = new UndoMap(journal);
    this.#opened = new UndoMap(journal);
    this.#closed = new UndoMap(journal);
  }

  /**
   * The local key of a written segment. Throws for any other segment: a segment is written before an event can name it.
   */
  key(segmentId: string): bigint {
    const key = this.#keys.get(segmentId);
    if (key === undefined) throw new Error(`segment ${segmentId} was not written`);
    return key;
  }

  has(segmentId: string): boolean {
    return this.#keys.has(segmentId);
  }

  /** The blocks of a team's body, in order. */
  bodyBlocks(teamId: string, bodyId: string): readonly BodyBlock[] {
    return this.allBodyBlocks(bodyId)
      .filter((block) => block.teamId === teamId)
      .toSorted((a, b) => a.number - b.number);
  }

  /** The blocks with this body ID, of any team. */
  allBodyBlocks(bodyId: string): readonly BodyBlock[] {
    return [...(this.#bodyBlocks.get(bodyId)?.values() ?? [])];
  }

  /** The team's body of this ID, while it is open. */
  openBody(teamId: string, bodyId: string): OpenBody | null {
    const body = this.findBody(bodyId) ?? null;
    return body?.teamId === teamId ? body : null;
  }

  /** The body, as far as it is loaded; null: known not to be open; undefined: not loaded. */
  findBody(bodyId: string): OpenBody | null | undefined {
    return this.#bodies.get(bodyId);
  }

  putBody(bodyId: string, body: OpenBody | null): void {
    this.#bodies.set(bodyId, body);
  }

  put(segmentId: string, key: bigint): void {
    this.#keys.set(segmentId, key);
  }

  /** A block may be put twice: from the previous batch, and from Postgres if the previous batch is already visible. */
  putBodyBlock(block: BodyBlock): void {
    const blocks = this.#bodyBlocks.get(block.bodyId) ?? new UndoMap<number, BodyBlock>(this.#journal);
    this.#bodyBlocks.set(block.bodyId, blocks.set(block.number, block));
  }

  changeBodyBlock({ block }: BodyBlockChange): void {
    this.putBodyBlock(block);
    this.#journal.push(this.changedBlocks, block);
  }

  changeBody({ body, isOpen }: Extract<OpenBodyChange, { kind: 'openBody' }>): void {
    const { bodyId } = body;
    this.putBody(bodyId, isOpen ? body : null);
    if (isOpen) this.#opened.set(bodyId, body);
    else if (!this.#opened.delete(bodyId)) this.#closed.set(bodyId, body);
  }

  /** Bodies that this batch has opened and not closed. */
  openedBodies(): OpenBody[] {
    return [...this.#opened.values()];
  }

  /** Stored bodies that this batch has closed. */
  closedBodies(): OpenBody[] {
    return [...this.#closed.values()];
  }
}
