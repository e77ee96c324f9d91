/**
 * Writes the rows of a segment, in any order with other writes: the rows never change, and readers see them only
 * through an extent.
 */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { rowIdTexts } from '../../src/language/events/row-bodies.ts';
import { fileReferencesIn } from '../../src/storage/files/file-name.ts';
import { insertFileReferences } from '../uploads/file-references.store.ts';

export interface SegmentContent {
  readonly key: bigint;
  readonly id: string;
  /** The team that sent the segment. Only tables of this team will have extents of it. */
  readonly teamId: string;
  readonly rows: number;
  /** Row bodies joined by newlines, in UTF-8. */
  readonly body: Uint8Array;
  /** The row IDs with which its rows came (src/language/events/row-bodies.ts); null if they came without. */
  readonly ids: Uint8Array | null;
}

/**
 * Sends one byte string and splits it on the server. In an array parameter, every quote of the JSON would be escaped.
 */
const insertSegment: Statement = {
  name: 'insert_segment',
  text: `with segment as (insert into segments (key, id, rows) values ($1, $2, $3))
    insert into segment_rows (segment, index, body)
    select $1, place - 1, body from string_to_table(convert_from($4::bytea, 'UTF8'), E'\\n') with ordinality lines(body,
    place)`,
};

const insertIds: Statement = {
  name: 'insert_segment_ids',
  text: `insert into retained_ids (segment, index, id)
    select $1, place - 1, id from string_to_table($2, E'\\n') with ordinality lines(id, place) where id <> ''`,
};

/**
 * Call this in a transaction: if the key is taken, the transaction must add nothing to the segment that has the key.
 * Throws if the body does not hold the declared number of rows, because an extent would refer to missing rows.
 */
export async function fillSegment(tx: Tx, segment: SegmentContent): Promise<void> {
  const body = Buffer.from(segment.body.buffer, segment.body.byteOffset, segment.body.byteLength);
  const inserting = tx.query(insertSegment, [segment.key, segment.id, segment.rows, body]);
  const storing = Promise.all([storeIds(tx, segment), storeReferences(tx, segment)]);
  storing.catch(() => undefined);
  // If one statement fails, the later ones fail because of it. So the first failure is reported.
  const { rowCount } = await inserting;
  if (rowCount !== segment.rows) {
    throw new Error(`segment ${segment.id}: ${rowCount} rows were written, not ${segment.rows}`);
  }
  await storing;
}

async function storeIds(tx: Tx, { key, ids }: SegmentContent): Promise<void> {
  if (ids !== null)
    await tx.query(insertIds, [
      key,
      rowIdTexts(ids)
        .map((id) => id ?? '')
        .join('\n'),
    ]);
}

async function storeReferences(tx: Tx, { key, teamId, body }: SegmentContent): Promise<void> {
  const references = fileReferencesIn(body);
  if (references.length === 0) return;
  const { statement, values } = insertFileReferences.bind(
    references.map((reference) => ({ ...reference, teamId, segment: key })),
  );
  await tx.query(statement, values);
}

const deleteSegments: Statement = {
  name: 'take_back_segments',
  text: `with gone as (delete from segments where id = any($1::uuid[]) returning key),
      rows as (delete from segment_rows where segment in (select key from gone)),
      ids as (delete from retained_ids where segment in (select key from gone))
    delete from file_references where segment in (select key from gone)`,
};

/** Removes segments that no event names or will name. */
export async function takeBackSegments(tx: Tx, ids: readonly string[]): Promise<void> {
  await tx.query(deleteSegments, [ids]);
}
