/** The extents of a read model with what reading their rows takes, in order. */
import { generationLife } from '../tables.garbage.ts';
import { formInSql } from '../stored-body.ts';
import type { ComparedRow, Labels } from '../../engine/compare/compare-cells.ts';

/**
 * Of an extent, what replay gives again. How its bodies are stored and where is not among it: the rows are compared as they are presented.
 */
export const extentLabels: Labels = {
  name: ({ tableId, version, ordinal }) => `extent ${version} ${ordinal} of table ${tableId}`,
  keys: ['tableId', 'version', 'ordinal'],
  columns: ['generation', 'schema_version', 'retained', 'rows', 'bytes', 'changed', 'deleted'],
};

/** An extent as `selectExtents` gives it: of any table that was not deleted. */
export interface ComparedExtent extends ComparedRow {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly key: bigint;
  /** How its bodies are stored (stored-body.ts). */
  readonly form: string;
  readonly widened: bigint;
  readonly rowBytesMax: number;
  /** The version of the schema that its rows are read by: the last one of its generation. */
  readonly readBy: bigint;
  /** Whether readers can come to its rows. Those of a generation that was replaced long ago may be gone. */
  readonly isShown: boolean;
}

export const selectExtents = `
  select extents.table_id as "tableId", extents.version, ordinal, extents.generation, extents.schema_version,
    encode(extents.retained, 'hex') as retained, extents.rows, bytes, changed, extents.deleted, key, ${formInSql('extents')} as form,
    coalesce(ended.widened, tables.widened, 0) as widened, coalesce(row_bytes_max, 1) as "rowBytesMax",
    coalesce(ended.schema_version, tables.schema_version, 0) as "readBy",
    coalesce(extents.generation = tables.generation or ended.ended_at >= last.time - ${generationLife}, true) as "isShown"
  from extents left join tables on tables.id = extents.table_id
    left join generations ended on ended.table_id = extents.table_id and ended.version = extents.generation
    left join teams on teams.id = tables.team_id left join progress as last on last.partition = teams.partition
  where tables.deleted is not true
  order by extents.table_id, extents.version, ordinal`;
