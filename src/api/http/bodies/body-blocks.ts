/**
 * The blocks of one body. The first block is held back until a second one comes or the body ends. A single block
 * travels in the request's own event. If there are several, their rows are written to segments while the body arrives,
 * and the packed blocks are spooled. The spooled blocks are appended to the log once the body is whole and well-formed.
 */
import { randomUUIDv7 } from 'node:crypto';
import { openBody, receiveBlock } from '../../../../commands/receive-block.ts';
import { bodyLife, lateBody } from '../../../../projections/segments/arrived-rows.ts';
import { eachInParallel } from '../../../language/each-in-parallel.ts';
import { packBody, type PackedBody } from '../../../language/events/event-codec.ts';
import { type BodyContent, contentOf } from '../../../language/events/cost-of-rows.ts';
import type { BodyLimits } from '../../../language/events/limits.ts';
import type { RowSource } from '../../../language/events/row-source.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { joinRowBodies } from '../../../language/events/row-bodies.ts';
import type { RowBlock } from '../../../language/formats/block-writer.ts';
import { ProfileChain, emptyProfile } from '../../../language/values/build-profile.ts';
import type { Profile } from '../../../language/values/profile.ts';
import { HttpError } from '../answers/http-error.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Submitter } from '../submit/submitter.ts';
import { TurnedAway } from '../submit/turned-away.ts';
import { decodeBlock, encodeBlock, type SpooledBlock } from './spooled-block.ts';
import { Spool } from './spool.ts';

/** Up to this size rows count as few: they join the table's tail instead of a segment. */
const fewRowsMax = 100;
const fewBytesMax = 64 * 1024;

/** Limit of columns, summed over the blocks of a body: a decision holds the profiles of all blocks in memory. */
const profiledColumnsMax = 250_000;

/** The maximum of bytes of a block of rows that must travel in the event of their request. */
export const upsertedBytesMax = 1024 * 1024;

const tooManyToUpsert: Refusal = {
  type: 'limit_exceeded',
  message:
    'rows: mode=upsert takes at most 10000 rows, of 1048576 bytes as JSON, in one request. Send them in several requests.',
};

/** How many blocks of a body are appended at once. */
const appendsMax = 4;

/** Where the blocks of bodies are kept. */
export interface BlockStore {
  readonly submitter: Pick<Submitter, 'submitPart'>;
  readonly bodyLimits: BodyLimits;
  /** Limits the rows and imports of a team. */
  readonly rateLimits: Pick<RateLimits, 'take' | 'count'> | null;
  /** Writes the rows of a segment before the event that references it. */
  readonly writeAhead: (teamId: string, segmentId: string, block: RowBlock) => Promise<void>;
  /** Removes rows that were written ahead for segments that no event names. */
  readonly takeBack: (segmentIds: readonly string[]) => Promise<void>;
  /** The folder of the spools. */
  readonly spoolFolder: string;
}

/** Where the rows of a body are stored. */
type StoredSource = Exclude<RowSource, { readonly kind: 'stash' }>;

/** How much of a body has arrived: its rows, and the sum of the columns in the profiles of its blocks. */
interface ArrivedContent {
  readonly rows: number;
  readonly profiledColumns: number;
}

/**
 * Why the committed state refuses a request with at least this content, or why the request is turned away; null if
 * neither.
 */
export type Refuses = (arrived: ArrivedContent) => Refusal | TurnedAway | null;

/** Why the schema of the target refuses the rows; null if it accepts them. */
export type JudgeRows = (profile: Profile) => Refusal | null;

/**
 * Where the rows of the request are. If the request is refused or turned away: the reason, and its rows were dropped.
 */
export type StoredRows =
  | { readonly source: StoredSource; readonly body?: PackedBody }
  | { readonly refusal: Refusal | TurnedAway };

interface BodyBlocksOptions {
  readonly teamId: string;
  /** Whether even few rows are stored in segments. */
  readonly asSegments: boolean;
  /** Whether the rows must travel in the request's event, so that a second block is refused. */
  readonly inEvent: boolean;
  /** Whether cells of the rows may have been dropped, and the dropped cells are counted. */
  readonly dropsCells: boolean;
  /**
   * Looks up the committed state. Called once, when the body begins. The function that it returns is asked before a
   * block is stored.
   */
  readonly lookUp: () => Promise<Refuses>;
}

/** Disposing it removes rows that were written ahead but not appended. */
export class BodyBlocks implements AsyncDisposable {
  readonly #store: BlockStore;
  readonly #options: BodyBlocksOptions;
  readonly #refuses: Promise<Refuses>;
  readonly #bodyId = randomUUIDv7();
  readonly #began = performance.now();
  readonly #spool: Spool;
  #refusal: Refusal | TurnedAway | null = null;
  /** Why no target could take the rows. While it is set, blocks are profiled and dropped. */
  #rowsRefusal: Refusal | null = null;
  /** Joins the profiles of the blocks that were dropped. */
  readonly #dropped = new ProfileChain();
  #only: RowBlock | null = null;
  #content: BodyContent = { columns: 0, rowIds: 0 };
  #rowCount = 0;
  #droppedCells = 0;
  /** How many blocks were taken: kept, or dropped because the request is refused. */
  #blocks = 0;
  /** Settles when the last block is kept. Meanwhile the next block is read. */
  #keeping: Promise<void> = Promise.resolve();
  /** The segments that were written ahead and that no event names yet. */
  #writtenAhead: string[] = [];

  constructor(store: BlockStore, options: BodyBlocksOptions) {
    this.#store = store;
    this.#options = options;
    this.#spool = new Spool(store.spoolFolder);
    this.#refuses = options.lookUp();
    // If the body is malformed, nobody awaits this promise.
    this.#refuses.catch(() => undefined);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  get droppedCells(): number {
    return this.#droppedCells;
  }

  /** Notes why no target could take the rows. Only the first reason is kept. */
  refuse(refusal: Refusal): void {
    this.#rowsRefusal ??= refusal;
  }

  /** Takes the next block. Throws HttpError, also because of an earlier block. */
  async add(block: RowBlock): Promise<void> {
    const { columns, rowIds } = contentOf(block.profile, block.ids !== null);
    this.#content = { columns: this.#content.columns + columns, rowIds: this.#content.rowIds + rowIds };
    if (this.#content.columns > profiledColumnsMax) {
      this.refuse({
        type: 'limit_exceeded',
        message: 'The body has too many columns for so many rows: send it in several requests.',
      });
    }
    this.#rowCount += block.profile.rows;
    this.#droppedCells += block.profile.dropped ?? 0;
    if (this.#blocks === 0 && this.#only === null) {
      this.#only = block;
      return;
    }
    if (this.#options.inEvent) this.refuse(tooManyToUpsert);
    const first = this.#only;
    this.#only = null;
    if (first !== null) await this.#take(first);
    await this.#take(block);
  }

  /**
   * Stores the rows where the request's event refers to them, or returns why the request is refused. Throws HttpError.
   */
  async store(judge: JudgeRows): Promise<StoredRows> {
    if (this.#rowsRefusal !== null) return { refusal: await this.#firstRefusal(this.#rowsRefusal, judge) };
    if (this.#blocks === 0) return this.#storeOnly();
    if (this.#refusal !== null) return { refusal: this.#refusal };
    await this.#keeping;
    // Only now the number of rows is known.
    const refusal = await this.#findRefusal();
    if (refusal !== null) return { refusal };
    const turnedAway = await this.#append();
    if (turnedAway !== null) return { refusal: turnedAway };
    return { source: { kind: 'body', bodyId: this.#bodyId, blocks: this.#blocks, content: this.#content } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keeping.catch(() => undefined);
    await this.#spool[Symbol.asyncDispose]();
    // If this fails, garbage collection removes them: they count as idle since they were written.
    await this.#store.takeBack(this.#writtenAhead).catch(() => undefined);
  }

  /**
   * The first refusal, in this order: by the committed state, by the schema, and `last`, which applies to every target.
   */
  async #firstRefusal(last: Refusal, judge: JudgeRows): Promise<Refusal | TurnedAway> {
    if (this.#blocks === 0) this.#store.rateLimits?.take('rows', this.#options.teamId, this.#rowCount);
    return this.#refusal ?? (await this.#findRefusal()) ?? judge(await this.#profile()) ?? last;
  }

  /** The profile of all rows. Reads the spool, so call it at most once, and not before `#append`. */
  async #profile(): Promise<Profile> {
    if (this.#only !== null) return this.#only.profile;
    await this.#keeping;
    const chain = new ProfileChain();
    for await (const { profile } of this.#spooled()) chain.add(profile);
    chain.add(this.#dropped.build());
    return chain.build();
  }

  async #storeOnly(): Promise<StoredRows> {
    const block = this.#only;
    const { teamId, asSegments, inEvent, dropsCells } = this.#options;
    // A chunk without rows has no cells, so its dropped cells are known: 0.
    if (block === null)
      return {
        source: dropsCells || asSegments ? { kind: 'few', profile: { ...emptyProfile, dropped: 0 } } : { kind: 'none' },
      };
    const { profile, ids } = block;
    this.#store.rateLimits?.take('rows', teamId, profile.rows);
    const refusal = await this.#findRefusal();
    if (refusal !== null) return { refusal };
    const carried = { profile, ...(ids === null ? {} : { ids: true as const }) };
    const areFew =
      profile.rows === 0 || inEvent || (!asSegments && profile.rows <= fewRowsMax && profile.bytes <= fewBytesMax);
    if (areFew) {
      return { source: { kind: 'few', ...carried }, body: await packBody(joinRowBodies(block)) };
    }
    const segmentId = randomUUIDv7();
    const [body] = await Promise.all([
      packBody(joinRowBodies(block)),
      this.#store.writeAhead(teamId, segmentId, block),
    ]);
    return { source: { kind: 'block', ...carried, segmentId }, body };
  }

  /** Keeps a block after the one before it. If the request is refused, drops the block. */
  async #take(block: RowBlock): Promise<void> {
    const { rateLimits } = this.#store;
    const { teamId } = this.#options;
    const isFirst = this.#blocks === 0;
    this.#blocks += 1;
    // The rate limit may refuse the first block only. Later blocks are counted.
    if (isFirst) rateLimits?.take('rows', teamId, block.profile.rows);
    else rateLimits?.count('rows', teamId, block.profile.rows);
    if (performance.now() - this.#began > bodyLife) throw new HttpError(lateBody.type, lateBody.message);
    if (isFirst) this.#refusal = await this.#findRefusal();
    if (this.#rowsRefusal !== null) this.#dropped.add(block.profile);
    if (this.#refusal !== null || this.#rowsRefusal !== null) return;
    await this.#keeping;
    this.#keeping = this.#keep(block);
    // The next `await` of `#keeping` gets the error.
    this.#keeping.catch(() => undefined);
  }

  async #keep(block: RowBlock): Promise<void> {
    const segmentId = randomUUIDv7();
    this.#writtenAhead.push(segmentId);
    const [body] = await Promise.all([
      packBody(joinRowBodies(block)),
      this.#store.writeAhead(this.#options.teamId, segmentId, block),
    ]);
    await this.#spool.write(encodeBlock({ segmentId, profile: block.profile, hasIds: block.ids !== null, body }));
  }

  /** Appends the blocks. If a quota turns the body away, returns the reason; the blocks are dropped. */
  async #append(): Promise<TurnedAway | null> {
    const { submitter, bodyLimits } = this.#store;
    const { teamId } = this.#options;
    const bodyId = this.#bodyId;
    try {
      await submitter.submitPart(teamId, openBody(teamId, bodyId, bodyLimits));
    } catch (error) {
      if (error instanceof TurnedAway) return error;
      throw error;
    }
    this.#writtenAhead = [];
    await eachInParallel(
      this.#spooled(),
      appendsMax,
      async ({ body, ...block }, number) => {
        await submitter.submitPart(teamId, receiveBlock({ teamId, bodyId, number, ...block }), body);
      },
      () => undefined,
    );
    return null;
  }

  async *#spooled(): AsyncGenerator<SpooledBlock, void, undefined> {
    for await (const entry of this.#spool.entries()) yield decodeBlock(entry);
  }

  async #findRefusal(): Promise<Refusal | TurnedAway | null> {
    return (await this.#refuses)({ rows: this.#rowCount, profiledColumns: this.#content.columns });
  }
}
