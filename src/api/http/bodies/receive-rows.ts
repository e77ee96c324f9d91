/**
 * Receives the rows of a request body: cuts them into blocks as they stream in, each with its profile (ARCHITECTURE.md,
 * "What a table is made of").
 */
import type { FastifyRequest } from 'fastify';
import type { RowSource } from '../../../language/events/row-source.ts';
import type { DelimitedForm } from '../../../language/formats/delimited-form.ts';
import { DelimitedRowReader } from '../../../language/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../../language/formats/json-row-reader.ts';
import { notesMax, type Remarks, type RowReader } from '../../../language/formats/row-reader.ts';
import { TextCells, noteText } from '../../../language/formats/text-cells.ts';
import { refuseConflict, refuseForm } from '../requests/delimited-query.ts';
import { headerParameter, readMediaType } from './media-type.ts';
import {
  BodyBlocks,
  upsertedBytesMax,
  type BlockStore,
  type JudgeRows,
  type Refuses,
  type StoredRows,
} from './body-blocks.ts';
import { takePlace } from './body-place.ts';
import { bodyChunks } from './request-body.ts';
import type { FairShares } from '../limits/fair-shares.ts';
import type { RequestIdentity } from '../submit/request-identity.ts';
import type { Turns } from './turns.ts';

export interface RowReceiver extends BlockStore {
  readonly bodyBytesMax: number;
  /** The places of bodies that are read. A body holds one from the arrival of its first part until it is disposed. */
  readonly places: FairShares;
  /** Shared by the whole process: there is one thread. */
  readonly turns: Turns;
}

/** Dispose it once the request is submitted or refused. Rows that were not appended are then removed. */
interface ReceivedRows extends AsyncDisposable {
  /**
   * Whether the body was read to its end. If not, its rows exceed a limit: `store` returns that refusal, and `members`
   * are unknown.
   */
  readonly isWhole: boolean;
  /** The members of the body except its rows; null for a bare array, NDJSON, CSV and TSV. */
  readonly members: Readonly<Record<string, unknown>> | null;
  /** Whether the body had rows, or an array or header for them. */
  readonly hasRows: boolean;
  /** How many rows the body had, and how many cells were dropped because no row may hold them. */
  readonly rowCount: number;
  readonly droppedCells: number;
  readonly remarks: Remarks;
  /**
   * Stores the rows where the request's event refers to them. Call it once the request is known to be well-formed. It
   * calls `judge` only for rows that are refused anyway, because a refusal by the schema comes first. Throws HttpError:
   * `rate_limited` when the team may not write so many rows, `limit_exceeded` or `payment_required` when it has too
   * many open bodies.
   */
  store(judge: JudgeRows): Promise<StoredRows>;
}

/** Up to this many bytes, reading a body takes no longer than other requests. */
export const smallBodyBytesMax = 8 * 1024;

const rowTypes = ['application/json', 'application/x-ndjson', 'text/csv', 'text/tab-separated-values'] as const;

/** How many rows a request affects; null if only the decision can know. */
export function rowsIn({ rowCount }: ReceivedRows, source: RowSource): number | null {
  return source.kind === 'stash' ? null : rowCount;
}

export interface ReceiveRowsOptions {
  /**
   * Looks up the committed state. Called once, when the body begins. The function that it returns is asked before the
   * first block is stored. If the request is refused, its rows are still read and judged, but not stored: a malformed
   * body is refused as malformed.
   */
  readonly lookUp: () => Promise<Refuses>;
  /** Column IDs whose order is already fixed. */
  readonly columns?: readonly string[];
  /** Whether rows may keep the row IDs that they came with. */
  readonly retainIds?: boolean;
  /** Whether even few rows are stored in segments. */
  readonly asSegments?: boolean;
  /** Whether cells that no row may hold are left out, and all cells counted (`onSchemaError=dropColumns`). */
  readonly dropsCells?: boolean;
  /** Whether the rows are upserted: JSON rows keep their nulls, and all rows must fit into one block in the event. */
  readonly areUpserted?: boolean;
  /** Whether columns that are not in `columns` get inferred types. The client then learns which of them became text. */
  readonly infersTypes: boolean;
  /** What the client says about the form of a CSV or TSV body. */
  readonly delimited: DelimitedForm;
  /** The form of JSON bodies; `envelope`: an array of rows, or an object around it. */
  readonly form?: 'rows' | 'envelope';
}

/**
 * Reads a body of rows to its end, while holding a place. Throws MalformedBody, and HttpError: `rate_limited` if the
 * team may not write the first block of several, `service_unavailable` if the blocks cannot be kept,
 * `request_validation_error` for a media type that is not accepted, or that cannot have the stated form; and as
 * `takePlace` does.
 */
export async function receiveRows(
  receiver: RowReceiver,
  request: FastifyRequest,
  identity: RequestIdentity,
  options: ReceiveRowsOptions,
): Promise<ReceivedRows> {
  const texts = options.infersTypes ? new TextCells() : undefined;
  const reader = readerOf(request, options, texts);
  const { asSegments = false, dropsCells = false, areUpserted = false, lookUp } = options;
  const place = await takePlace(receiver.places, request, receiver.bodyBytesMax);
  const body = new BodyBlocks(receiver, {
    teamId: request.principal.teamId,
    asSegments,
    inEvent: areUpserted,
    dropsCells,
    lookUp: async () => {
      const refuses = await lookUp();
      return (arrived) => identity.turnedAway?.() ?? refuses(arrived);
    },
  });
  const close = async (): Promise<void> => {
    await body[Symbol.asyncDispose]();
    place.release();
  };
  try {
    for await (const chunk of bodyChunks(request, receiver.bodyBytesMax)) {
      if (chunk.length > smallBodyBytesMax) await receiver.turns.take();
      identity.digest?.update(chunk);
      for (const block of reader.push(chunk)) {
        if (reader.refusal !== null) body.refuse(reader.refusal);
        await body.add(block);
      }
    }
    const { blocks, envelope, ...end } = reader.end();
    if (reader.refusal !== null) body.refuse(reader.refusal);
    for (const block of blocks) await body.add(block);
    return {
      ...end,
      remarks: withNotes(end.remarks, texts?.take().map(noteText) ?? []),
      members: envelope,
      rowCount: body.rowCount,
      droppedCells: body.droppedCells,
      store: (judge) => body.store(judge),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function withNotes(remarks: Remarks, notes: readonly string[]): Remarks {
  return { ...remarks, notes: [...remarks.notes, ...notes].slice(0, notesMax) };
}

function readerOf(
  request: FastifyRequest,
  {
    columns = [],
    retainIds = false,
    dropsCells = false,
    areUpserted = false,
    form = 'envelope',
    delimited,
  }: Omit<ReceiveRowsOptions, 'lookUp' | 'infersTypes'>,
  texts: TextCells | undefined,
): RowReader {
  const limits = areUpserted ? { blockBytes: upsertedBytesMax } : {};
  const type = readMediaType(request, rowTypes);
  if (type === 'application/json' || type === 'application/x-ndjson') {
    refuseForm(delimited);
    return new JsonRowReader({
      form: type === 'application/json' ? form : 'lines',
      columns,
      retainIds,
      dropsCells,
      keepsNulls: areUpserted,
      limits,
    });
  }
  const header = delimited.header ?? headerParameter(request);
  const delimiter = type === 'text/csv' ? ',' : '\t';
  refuseConflict(delimited, delimiter);
  return new DelimitedRowReader({
    delimiter,
    form: { ...delimited, ...(header !== undefined && { header }) },
    columns,
    retainIds,
    dropsCells,
    // An empty cell of an upsert empties the cell of the table, where a dropped one must leave it.
    refusesBadCells: areUpserted,
    limits,
    texts,
  });
}
