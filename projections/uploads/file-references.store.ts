/** Stores which files rows name, and finds out whether a row names a file. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { isShownNow } from '../tables/read/table-at.ts';
import { storedChangeReferences, storedFileReferences } from './file-reference.entity.ts';

/** The files that new rows of segments name. */
export const insertFileReferences = storedFileReferences.insert('insert_file_references');

/** The files that patched rows name. Some may be stored already. */
export const insertChangeReferences = storedChangeReferences.insert(
  'insert_change_references',
  'on conflict do nothing',
);

/** The files that patched rows no longer name. Some may never have been stored. */
export const deleteChangeReferences = storedChangeReferences.delete('delete_change_references');

/**
 * SQL: the extent's table, if the extent is in its present generation. The table belongs to the team of the segment.
 */
const shown = `select from tables where ${isShownNow} limit 1`;

/**
 * SQL: the distinct places at which rows of the upload's team name its file, in order, by one index probe each. No key
 * is 0.
 */
const namedBy = (references: string, place: string): string => `with recursive named(place) as (
    select 0::int8
    union all
    select (
      select next.${place} from (
        select team_id, file, ${place} from ${references}
          where (team_id, file, ${place}) > (uploads.team_id, uploads.file, named.place)
          order by team_id, file, ${place} limit 1
      ) next where next.team_id = uploads.team_id and next.file = uploads.file
    ) from named where named.place is not null
  )`;

/** Whether rows name the file of an upload. */
interface Claim {
  readonly uploadId: string;
  readonly isClaimed: boolean;
}

/**
 * Each look-up is an index probe: limits, offsets and row comparisons leave the planner no other choice. Millions of
 * unreachable rows may name a file. So the query goes from segment to segment, and reads rows only if the extent is
 * shown. Other teams' rows that name the file are elsewhere in the index, however many they are.
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
            and (team_id, file, segment, index) < (uploads.team_id, uploads.file, named.place, extents.first +
            extents.rows) offset 0
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
 * Whether rows name the files of these uploads. The newest bodies of rows in present generations of the upload's team
 * count. Omits uploads without a file.
 */
export async function findClaims(tx: Tx, uploadIds: readonly string[]): Promise<Claim[]> {
  return (await tx.query(selectClaims, [uploadIds])).rows;
}
