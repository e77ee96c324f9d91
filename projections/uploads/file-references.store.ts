/** The files that rows name, as a batch writes them and as they are asked for. */
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';
import { storedChangeReferences, storedFileReferences } from './file-reference.entity.ts';

/** What rows of segments name that are new. */
export const insertFileReferences = storedFileReferences.insert('insert_file_references');

/** What patched rows name. It may have been stored before. */
export const insertChangeReferences = storedChangeReferences.insert('insert_change_references', 'on conflict do nothing');

/** What patched rows name no longer. It may never have been stored. */
export const deleteChangeReferences = storedChangeReferences.delete('delete_change_references');

/** The extent's table, if readers can reach the extent. It is of the team that the segment is of. */
const shown = `select from tables where tables.id = extents.table_id and tables.generation = extents.generation
  and not tables.deleted limit 1`;

/** The places of an upload's team that name its file, each once, in order: a probe for each. No key is 0. */
const namedBy = (references: string, place: string): string => `with recursive named(place) as (
    select 0::int8
    union all
    select (
      select next.${place} from (
        select team_id, file, ${place} from ${references}
          where (team_id, file, ${place}) > (uploads.team_id, uploads.file, named.place) order by team_id, file, ${place} limit 1
      ) next where next.team_id = uploads.team_id and next.file = uploads.file
    ) from named where named.place is not null
  )`;

/** Whether rows name the file of an upload. */
export interface Claim {
  readonly uploadId: string;
  readonly isClaimed: boolean;
}

/**
 * Each look-up is a probe of an index: limits, offsets and the comparison of several columns at once leave the planner no other
 * way to begin or to go on. A file may be named by millions of rows that nobody sees any more, so it goes from segment to segment,
 * and looks at rows only where an extent is shown. Rows of other teams may name it as often: they stand elsewhere in the index.
 */
export const selectClaims: Statement<Claim> = {
  name: 'select_claims',
  text: `select uploads.id as "uploadId", received.found is not null or changed.found is not null as "isClaimed"
    from uploads
    left join lateral (
      ${namedBy('file_references', 'segment')}
      select true as found from named
      cross join lateral (
        select key, table_id, generation, first, rows from extents where extents.segment = named.place offset 0
      ) extents
      cross join lateral (${shown}) shown
      cross join lateral (
        select from (
          select index - extents.first as index from file_references
          where (team_id, file, segment, index) >= (uploads.team_id, uploads.file, named.place, extents.first)
            and (team_id, file, segment, index) < (uploads.team_id, uploads.file, named.place, extents.first + extents.rows) offset 0
        ) named_rows
        left join lateral (
          select version from changes where changes.extent = extents.key and changes.index = named_rows.index limit 1
        ) change on true
        where change.version is null limit 1
      ) unchanged
      limit 1
    ) received on true
    left join lateral (
      ${namedBy('change_references', 'extent')}
      select true as found from named
      cross join lateral (select table_id, generation from extents where extents.key = named.place limit 1) extents
      cross join lateral (${shown}) shown
      limit 1
    ) changed on true
    where uploads.id = any($1::uuid[]) and uploads.file is not null and uploads.removed_at is null`,
};

/**
 * Whether rows name the files of these uploads: rows of the present generations of tables of the upload's team, by their newest
 * bodies. Uploads without a file are left out.
 */
export async function findClaims(tx: Tx, uploadIds: readonly string[]): Promise<Claim[]> {
  return (await tx.query(selectClaims, [uploadIds])).rows;
}
