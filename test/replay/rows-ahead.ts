/** Rows that a team sends ahead of the request that takes them: blocks of bodies, and chunks of stashes. */
import type { RowSource } from '../../src/events/event.ts';
import type { EventSender } from './event-sender.ts';
import type { Random } from './random.ts';
import { rowsOf, sampleNames, type SampleRows } from './row-samples.ts';

const hour = 3_600_000;

export interface RowsAheadOptions {
  readonly random: Random;
  readonly sender: EventSender;
  readonly teamId: string;
  readonly blocks: readonly SampleRows[];
}

export class RowsAhead {
  readonly #random: Random;
  readonly #sender: EventSender;
  readonly #teamId: string;
  readonly #blocks: readonly SampleRows[];

  constructor({ random, sender, teamId, blocks }: RowsAheadOptions) {
    this.#random = random;
    this.#sender = sender;
    this.#teamId = teamId;
    this.#blocks = blocks;
  }

  /** A body of so many blocks. */
  body(blocks: number): RowSource {
    return this.#body(Array.from({ length: blocks }, () => this.#random.pick(this.#blocks)));
  }

  /** A body of these rows between blocks that come with no IDs. */
  keepingBody(rows: SampleRows): RowSource {
    return this.#body([this.#random.pick(this.#blocks), rows, this.#random.pick(this.#blocks)]);
  }

  #body(blocks: readonly SampleRows[]): Extract<RowSource, { kind: 'body' }> {
    const bodyId = this.#random.uuid();
    for (const [number, { carried, body }] of blocks.entries()) {
      this.#sender.send({ type: 'BlockReceived', teamId: this.#teamId, bodyId, number, segmentId: this.#random.uuid(), ...carried }, body);
    }
    return { kind: 'body', bodyId, blocks: blocks.length };
  }

  /** One of few stashes, so that they are met again. */
  stash(): Extract<RowSource, { kind: 'stash' }> {
    return { kind: 'stash', stashId: `stash${this.#random.below(4)}` };
  }

  /** A stash that holds these rows, which keep their IDs, beside others. */
  async keepingStash(rows: SampleRows): Promise<RowSource> {
    const stash = this.stash();
    await this.#putChunk(stash.stashId, rows);
    return stash;
  }

  /** Mostly chunks: in order or not, one more time, or the first of a stash that has ended. Gives the stash, unless it ends it. */
  async changeStash(): Promise<RowSource | null> {
    const r = this.#random;
    const stash = this.stash();
    const { stashId } = stash;
    const roll = r.next();
    if (roll < 0.2) this.#sender.send({ type: 'StashDeleteRequested', teamId: this.#teamId, stashId });
    else if (roll < 0.4) this.#sender.send({ type: 'StashExpired', teamId: this.#teamId, stashId, created: BigInt(r.below(1000)) });
    else for (let chunks = 1 + r.below(5); chunks > 0; chunks -= 1) await this.#putChunk(stashId);
    return roll < 0.4 ? null : stash;
  }

  /** A stash that holds rows, and ends. */
  async endStash(): Promise<void> {
    const { stashId } = this.stash();
    await this.#putChunk(stashId);
    this.#sender.send({ type: 'StashDeleteRequested', teamId: this.#teamId, stashId });
  }

  async #putChunk(stashId: string, given?: SampleRows): Promise<void> {
    const r = this.#random;
    const { carried, body } = given ?? (await rowsOf(r, 1 + r.below(5), r.chance(0.7) ? 'plain' : r.pick(sampleNames)));
    const kind = r.pick(['none', 'block', 'block', 'body']);
    const rows = kind === 'none'
      ? { kind } as const
      : kind === 'block' ? { kind, ...carried, segmentId: r.uuid() } as const : this.#body([r.pick(this.#blocks), r.pick(this.#blocks)]);
    const serial = r.chance(0.1) ? r.pick(['a', '-x', 'B_1']) : r.pick(['1', '2', '007', '7', '10', '9']);
    // Now and then its time is over before anything can come of it.
    const limits = { lifeMs: r.chance(0.1) ? 0 : hour, chunksMax: r.chance(0.02) ? 0 : 1000, rowsMax: 1e6, profiledColumnsMax: 1e6 };
    this.#sender.send({ type: 'ChunkPutRequested', teamId: this.#teamId, stashId, serial, limits, rows }, body);
  }
}
