/** The links of a read model with what reading their rows takes, in order. */
import type { ResultRow } from '../database/pipelined-client.ts';
import type { Labels } from './compare-cells.ts';

/**
 * Of a link, what replay gives again. How its bodies are stored (`wrap`, `plain`, `cells`) and where is not among it: the rows are
 * compared as they are presented.
 */
export const linkLabels: Labels = {
  name: ([tableId, version, ordinal]) => `link ${version} ${ordinal} of table ${tableId}`,
  keys: 3,
  columns: ['generation', 'schema_version', 'rows', 'bytes', 'changed', 'deleted'],
};

/** A link as `selectLinks` gives it: of any table that was not deleted. */
export interface Link {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly schemaVersion: bigint;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly key: bigint;
  readonly wrap: boolean;
  readonly plain: boolean;
  readonly cells: boolean;
  readonly widened: bigint;
  readonly rowBytesMax: number;
  /** The version of the schema that its rows are read by: the last one of its generation. */
  readonly readBy: bigint;
}

export const selectLinks = `
  select links.table_id, links.version, ordinal, links.generation, links.schema_version, links.rows, bytes, changed, links.deleted,
    key, wrap, plain, cells, coalesce(widened, 0), coalesce(row_bytes_max, 1),
    case when links.generation < tables.generation then (
      select max(schemas.version) from table_schemas schemas
      where schemas.table_id = links.table_id and schemas.version < coalesce(
        (select min(later.generation) from links later
          where later.table_id = links.table_id and later.generation > links.generation),
        tables.generation)
    ) else tables.schema_version end
  from links left join tables on tables.id = links.table_id
  where tables.deleted is not true
  order by links.table_id, links.version, ordinal`;

export function toLink(row: ResultRow): Link {
  const [tableId, version, ordinal, , schemaVersion, rows, bytes, changed, , key, wrap, plain, cells, widened, rowBytesMax,
    readBy] = row;
  return {
    tableId, version, ordinal, schemaVersion, rows, bytes, changed, key, wrap, plain, cells, widened, rowBytesMax,
    readBy: readBy ?? 0n,
  };
}
