/** The extents of a read model with what reading their rows takes, in order. */
import { generationLife } from '../tables.garbage.ts';
import type { ResultRow } from '../../../src/database/pipelined-client.ts';
import type { Labels } from '../../engine/compare/compare-cells.ts';

/**
 * Of an extent, what replay gives again. How its bodies are stored (`wrap`, `presented`, `cells`) and where is not among it: the rows are
 * compared as they are presented.
 */
export const extentLabels: Labels = {
  name: ([tableId, version, ordinal]) => `extent ${version} ${ordinal} of table ${tableId}`,
  keys: 3,
  columns: ['generation', 'schema_version', 'kept', 'rows', 'bytes', 'changed', 'deleted'],
};

/** An extent as `selectExtents` gives it: of any table that was not deleted. */
export interface Extent {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly schemaVersion: bigint;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly key: bigint;
  readonly wrap: boolean;
  readonly presented: bigint | null;
  readonly cells: boolean;
  readonly widened: bigint;
  readonly rowBytesMax: number;
  /** The version of the schema that its rows are read by: the last one of its generation. */
  readonly readBy: bigint;
  /** Whether readers can come to its rows. Those of a generation that was replaced long ago may be gone. */
  readonly isShown: boolean;
}

export const selectExtents = `
  select extents.table_id, extents.version, ordinal, extents.generation, extents.schema_version, encode(extents.kept, 'hex'), extents.rows, bytes,
    changed, extents.deleted, key, wrap, presented, cells, coalesce(ended.widened, tables.widened, 0), coalesce(row_bytes_max, 1),
    coalesce(ended.schema_version, tables.schema_version),
    extents.generation = tables.generation or ended.ended_at >= last.time - ${generationLife}
  from extents left join tables on tables.id = extents.table_id
    left join generations ended on ended.table_id = extents.table_id and ended.version = extents.generation
    left join teams on teams.id = tables.team_id left join progress as last on last.partition = teams.partition
  where tables.deleted is not true
  order by extents.table_id, extents.version, ordinal`;

export function toExtent(row: ResultRow): Extent {
  const [tableId, version, ordinal, , schemaVersion, , rows, bytes, changed, , key, wrap, presented, cells, widened, rowBytesMax,
    readBy, isShown] = row;
  return {
    tableId, version, ordinal, schemaVersion, rows, bytes, changed, key, wrap, presented, cells, widened, rowBytesMax,
    readBy: readBy ?? 0n, isShown: isShown ?? true,
  };
}
