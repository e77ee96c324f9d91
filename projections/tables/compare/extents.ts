/** The extents of a read model, in order, with all that is needed to read their rows. */
import { isForgettableInSql } from '../ended-generations.ts';
import { generationLife } from '../tables.garbage.ts';
import { formInSql } from '../read/stored-body.ts';
import { joinDigest } from '../../../src/log/compare/digest-cache.ts';
import type { ComparedRow, Labels } from '../../../src/log/compare/compare-cells.ts';

/**
 * The parts of an extent that replay must reproduce. Rows are compared as presented, so the form and place of stored
 * bodies may differ.
 */
export const extentLabels: Labels = {
  name: ({ tableId, version, ordinal }) => `extent ${version} ${ordinal} of table ${tableId}`,
  keys: ['tableId', 'version', 'ordinal'],
  columns: ['generation', 'schema_version', 'retained', 'rows', 'bytes', 'changed', 'deleted'],
};

/** An extent as `selectExtents` returns it. Deleted tables are left out. */
export interface ComparedExtent extends ComparedRow {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly key: bigint;
  /** How the bodies are stored (../read/stored-body.ts); null: they need no conversion. */
  readonly form: string | null;
  readonly widened: bigint;
  readonly rowBytesMax: number;
  /** The schema version under which its rows are read: the last one of its generation. */
  readonly readBy: bigint;
  /** Whether readers can reach its rows. Rows of a generation that was replaced long ago may be gone. */
  readonly isShown: boolean;
}

const widened = 'coalesce(ended.widened, tables.widened, 0)';

const columns = `extents.table_id as "tableId", extents.version, ordinal, extents.generation, extents.schema_version,
    encode(extents.retained, 'hex') as retained, extents.rows, bytes, changed, extents.deleted, key, ${formInSql('extents', 'extents.presented', widened)} as form,
    ${widened} as widened, coalesce(row_bytes_max, 1) as "rowBytesMax",
    coalesce(ended.schema_version, tables.schema_version, 0) as "readBy",
    coalesce(extents.generation = tables.generation or ended.ended_at >= last.time - ${generationLife}, tables.id is
    null) as "isShown"`;

const joined = `extents left join tables on tables.id = extents.table_id
    left join generations ended on ended.table_id = extents.table_id and ended.version = extents.generation
    left join teams on teams.id = tables.team_id left join progress as last on last.partition = teams.partition`;

/**
 * If a generation may be forgotten, its extents are not compared here: a section compares the row IDs that they issued
 * (../tables.sections.ts).
 */
const isCompared = `(${isForgettableInSql}) is not true`;

export const selectExtents = `
  select ${columns} from ${joined} where tables.deleted is not true and ${isCompared}
  order by extents.table_id, extents.version, ordinal`;

/** An extent with the stored digest of its rows, if there is one and it is still valid. */
export interface DigestedExtent extends ComparedExtent {
  /** While the fingerprint stays, the rows read alike: a later change of any row has a higher version. */
  readonly fingerprint: string;
  readonly digest: string | null;
}

/** The extents of the tables with these IDs, in order. */
export const selectExtentsOf = (ids: string): string => `
  select extents.*, kept.digest from (
    select ${columns}, concat_ws(' ', extents.rows, coalesce(ended.schema_version, tables.schema_version),
    coalesce(ended.widened, tables.widened),
      (select max(changes.version) from changes where extents.changed and changes.extent = extents.key)) as fingerprint
    from ${joined} where extents.table_id = any(${ids}) and ${isCompared}
  ) extents
  ${joinDigest('extents."tableId"', `extents.version || ' ' || extents.ordinal`, 'extents.fingerprint')}
  order by extents."tableId", extents.version, extents.ordinal`;
