/** The segments that the events of a batch name, and the blocks of large bodies. */
import type { BodyBlock, BodyBlockChange } from './body-block.ts';

export interface SegmentStates {
  readonly segments: SegmentsState;
}

export class SegmentsState {
  readonly #keys = new Map<string, bigint>();
  readonly #bodyBlocks = new Map<string, Map<number, BodyBlock>>();
  readonly changedBlocks: BodyBlock[] = [];

  /** The local key of a segment that is written. Throws for others: whoever names a segment has written it. */
  key(segmentId: string): bigint {
    const key = this.#keys.get(segmentId);
    if (key === undefined) throw new Error(`segment ${segmentId} was not written`);
    return key;
  }

  has(segmentId: string): boolean {
    return this.#keys.has(segmentId);
  }

  /** The blocks of a team's body, in their order. */
  bodyBlocks(teamId: string, bodyId: string): readonly BodyBlock[] {
    return this.allBodyBlocks(bodyId)
      .filter((block) => block.teamId === teamId)
      .toSorted((a, b) => a.number - b.number);
  }

  /** The blocks under a body's ID, of whichever team. */
  allBodyBlocks(bodyId: string): readonly BodyBlock[] {
    return [...(this.#bodyBlocks.get(bodyId)?.values() ?? [])];
  }

  put(segmentId: string, key: bigint): void {
    this.#keys.set(segmentId, key);
  }

  /** A block may be put twice: when the batch before had it, and when it could be loaded already. */
  putBodyBlock(block: BodyBlock): void {
    const blocks = this.#bodyBlocks.get(block.bodyId) ?? new Map<number, BodyBlock>();
    this.#bodyBlocks.set(block.bodyId, blocks.set(block.number, block));
  }

  changeBodyBlock({ block }: BodyBlockChange): void {
    this.putBodyBlock(block);
    this.changedBlocks.push(block);
  }
}
