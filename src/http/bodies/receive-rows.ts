/**
 * Receives the rows of a request body: cuts them into blocks as they stream in, each with its profile. A single block travels in
 * the request's own event; of several, each gets its own event as soon as it is full (ARCHITECTURE.md, "What a table is made of").
 */
import { randomUUIDv7 } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { openBody, receiveBlock } from '../../../commands/receive-block.ts';
import { packBody, type PackedBody } from '../../events/event-codec.ts';
import { contentOf } from '../../events/cost.ts';
import type { BodyContent, BodyLimits, RowSource } from '../../events/event.ts';
import { joinRowBodies } from '../../events/row-bodies.ts';
import type { RowBlock } from '../../formats/block-writer.ts';
import { DelimitedRowReader } from '../../formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../formats/json-row-reader.ts';
import type { RowReader } from '../../formats/row-reader.ts';
import { HttpError } from '../answers/http-error.ts';
import { readMediaType, type MediaType } from './media-type.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { bodyChunks } from './request-body.ts';
import type { RequestIdentity, Submitter } from '../submit/submitter.ts';
import type { Turns } from './turns.ts';

/** Up to this size rows count as few: they join the table's tail instead of a segment. */
const fewRowsMax = 100;
const fewBytesMax = 64 * 1024;

export interface RowReceiver {
  readonly submitter: Submitter;
  readonly bodyBytesMax: number;
  readonly bodyLimits: BodyLimits;
  /** Shared by the whole process: there is one thread. */
  readonly turns: Turns;
  /** Limits the rows that a team writes. */
  readonly rateLimits: RateLimits | null;
  /** Writes the rows of a segment before the event that references it. */
  readonly writeAhead: (teamId: string, segmentId: string, block: RowBlock) => Promise<void>;
}

/** Where the rows of a body are stored. */
export type StoredSource = Exclude<RowSource, { readonly kind: 'stash' }>;

export interface ReceivedRows {
  /** The members of the body except its rows; null for a bare array, CSV and TSV. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** Whether the body had rows, or an array or header for them. */
  readonly hasRows: boolean;
  /** How many rows the body had. */
  readonly rowCount: number;
  /**
   * Stores the rows where the request's event refers to them. To be called once the request is known to be well-formed. Throws
   * HttpError `rate_limited` when the team may not write as many.
   */
  store(): Promise<{ readonly source: StoredSource; readonly body?: PackedBody }>;
}

/** Limit of columns, summed over the blocks of a body: a decision holds the profiles of all blocks in memory. */
const profiledColumnsMax = 250_000;

/** Rows of this many bytes take no longer to read than other requests. */
export const smallBodyBytesMax = 8 * 1024;

const rowTypes = ['application/json', 'text/csv', 'text/tab-separated-values'] as const;

/** How many rows a request affects; null if only the decision can know. */
export function rowsIn({ rowCount }: ReceivedRows, source: RowSource): number | null {
  return source.kind === 'stash' ? null : rowCount;
}

export interface ReceiveRowsOptions {
  /** Column IDs whose order is already fixed. */
  readonly columns?: readonly string[];
  /** Whether rows may keep the row IDs that they came with. */
  readonly retainIds?: boolean;
  /** Whether even few rows are stored in segments. */
  readonly asSegments?: boolean;
  /** The form of JSON bodies; `envelope`: an array of rows, or an object around it. */
  readonly form?: 'rows' | 'envelope';
}

/**
 * Reads a body of rows to its end. Throws MalformedBody, and HttpError: `rate_limited` if the team may not write the first block of
 * several, `limit_exceeded` or `payment_required` if it has too many such bodies open.
 */
export async function receiveRows(
  receiver: RowReceiver,
  request: FastifyRequest,
  identity: RequestIdentity,
  options: ReceiveRowsOptions = {},
): Promise<ReceivedRows> {
  const reader = readerOf(readMediaType(request, rowTypes), options);
  const body = new BodyBlocks(receiver, request.principal.teamId, options.asSegments ?? false);
  for await (const chunk of bodyChunks(request, receiver.bodyBytesMax)) {
    if (chunk.length > smallBodyBytesMax) await receiver.turns.take();
    identity.digest?.update(chunk);
    for (const block of reader.push(chunk)) await body.add(block);
  }
  const { blocks, envelope, hasRows } = reader.end();
  for (const block of blocks) await body.add(block);
  return { members: envelope, hasRows, rowCount: body.rowCount, store: () => body.store() };
}

function readerOf(type: MediaType, { columns = [], retainIds = false, form = 'envelope' }: ReceiveRowsOptions): RowReader {
  switch (type) {
    case 'application/json': return new JsonRowReader({ form, columns, retainIds });
    case 'text/csv': return new DelimitedRowReader({ delimiter: ',', columns, retainIds });
    case 'text/tab-separated-values': return new DelimitedRowReader({ delimiter: '\t', columns, retainIds });
  }
}

/** The blocks of one body. The first is held back until it is known whether there is a second. */
class BodyBlocks {
  readonly #receiver: RowReceiver;
  readonly #teamId: string;
  readonly #bodyId = randomUUIDv7();
  readonly #asSegments: boolean;
  #only: RowBlock | null = null;
  #content: BodyContent = { columns: 0, rowIds: 0 };
  #sent = 0;
  #rowCount = 0;

  constructor(receiver: RowReceiver, teamId: string, asSegments: boolean) {
    this.#receiver = receiver;
    this.#teamId = teamId;
    this.#asSegments = asSegments;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  async add(block: RowBlock): Promise<void> {
    const { columns, rowIds } = contentOf(block.profile, block.ids !== null);
    this.#content = { columns: this.#content.columns + columns, rowIds: this.#content.rowIds + rowIds };
    if (this.#content.columns > profiledColumnsMax) {
      throw new HttpError('limit_exceeded', 'The body has too many columns for so many rows: send it in several requests.');
    }
    this.#rowCount += block.profile.rows;
    if (this.#sent === 0 && this.#only === null) {
      this.#only = block;
      return;
    }
    if (this.#only !== null) {
      const first = this.#only;
      this.#only = null;
      await this.#send(first);
    }
    await this.#send(block);
  }

  async store(): Promise<{ readonly source: StoredSource; readonly body?: PackedBody }> {
    if (this.#sent > 0) return { source: { kind: 'body', bodyId: this.#bodyId, blocks: this.#sent, content: this.#content } };
    const block = this.#only;
    if (block === null) return { source: { kind: 'none' } };
    const { profile, ids } = block;
    this.#receiver.rateLimits?.takeRows(this.#teamId, profile.rows);
    const carried = { profile, ...(ids === null ? {} : { ids: true as const }) };
    const areFew = profile.rows === 0 || (!this.#asSegments && profile.rows <= fewRowsMax && profile.bytes <= fewBytesMax);
    if (areFew) {
      return { source: { kind: 'few', ...carried }, body: await packBody(joinRowBodies(block)) };
    }
    const segmentId = randomUUIDv7();
    const [body] = await Promise.all([packBody(joinRowBodies(block)), this.#receiver.writeAhead(this.#teamId, segmentId, block)]);
    return { source: { kind: 'block', ...carried, segmentId }, body };
  }

  async #send(block: RowBlock): Promise<void> {
    const { submitter, rateLimits, writeAhead, bodyLimits } = this.#receiver;
    const segmentId = randomUUIDv7();
    const number = this.#sent;
    // Once a body has begun it is accepted whole.
    if (number === 0) rateLimits?.takeRows(this.#teamId, block.profile.rows);
    else rateLimits?.countRows(this.#teamId, block.profile.rows);
    this.#sent += 1;
    const [body] = await Promise.all([
      packBody(joinRowBodies(block)), writeAhead(this.#teamId, segmentId, block),
      // At the same time, so that it takes no longer.
      ...(number === 0 ? [submitter.submitPart(this.#teamId, openBody(this.#teamId, this.#bodyId, bodyLimits))] : []),
    ]);
    const event = receiveBlock({ teamId: this.#teamId, bodyId: this.#bodyId, number, segmentId, profile: block.profile, hasIds: block.ids !== null });
    await submitter.submitPart(this.#teamId, event, body);
  }
}
