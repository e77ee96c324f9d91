/** The segments that the events of a batch name, and the blocks of large bodies. */
import type { BodyBlock, BodyBlockChange } from './body-block.ts';

export interface SegmentStates {
  readonly segments: SegmentsState;
}

export class SegmentsState {
  readonly #keys = new Map<string, bigint>();
  readonly #bodyBlocks = new Map<string, Map<number, BodyBlock>>();
  readonly changedBlocks: BodyBlock[] = [];

  /** The local key of a written segment. Throws for any other: an event never names a segment before it is written. */
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

  put(segmentId: string, key: bigint): void {
    this.#keys.set(segmentId, key);
  }

  /** A block may be put twice: from the previous batch, and from Postgres if that batch is visible already. */
  putBodyBlock(block: BodyBlock): void {
    const blocks = this.#bodyBlocks.get(block.bodyId) ?? new Map<number, BodyBlock>();
    this.#bodyBlocks.set(block.bodyId, blocks.set(block.number, block));
  }

  changeBodyBlock({ block }: BodyBlockChange): void {
    this.putBodyBlock(block);
    this.changedBlocks.push(block);
  }
}
