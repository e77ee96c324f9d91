/** Links, their rows and the changes on them, as a batch reads and writes them: set-based, a statement a kind. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { RowAddress } from '../../src/events/event.ts';
import { receivedForm } from '../../src/values/presentation.ts';
import type { Link, StoredRow, Table, TailRow } from './table.ts';

const linkColumns = `links.key, links.table_id, links.version, links.ordinal, links.generation, links.schema_version,
  links.wrap, links.presented, links.cells, links.kept, links.segment, links.first, links.rows, links.bytes, links.changed, links.deleted`;
const linkColumnCount = 16;

function toLink(row: ResultRow): Link {
  const [key, tableId, version, ordinal, generation, schemaVersion, wrap, presented, cells, kept, segment, first, rows,
    bytes, changed, deleted] = row;
  return {
    key, tableId, version, ordinal, generation, schemaVersion, wrap, presented, cells, kept, segment, first, rows, bytes,
    changed, deleted,
  };
}

const selectTails: Statement = {
  name: 'select_tails',
  text: `select ${linkColumns} from tables join links on links.key = tables.tail
    where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** The open tail links of these tables. */
export async function findTails(tx: Tx, tableIds: readonly string[]): Promise<Link[]> {
  const { rows } = await tx.query(selectTails, [tableIds]);
  return rows.map(toLink);
}

/** The link that a version gave to a table under an ordinal. */
export interface WantedLink {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
}

const selectLinks = new RowsStatement<WantedLink>(
  'select_links',
  [['uuid', (link) => link.tableId], ['int8', (link) => link.version], ['int4', (link) => link.ordinal]],
  (rows) => `select ${linkColumns} from ${rows} as wanted(table_id, version, ordinal)
    join lateral (
      select * from links where links.table_id = wanted.table_id and links.version = wanted.version
        and links.ordinal = wanted.ordinal limit 1
    ) links on true`,
);

/** These links, of whatever generation; those that never were are left out. Versions past those of Postgres never were. */
export async function findLinks(tx: Tx, wanted: readonly WantedLink[]): Promise<Link[]> {
  const possible = wanted.filter(({ version, ordinal }) => version < 2n ** 63n && ordinal < 2 ** 31);
  if (possible.length === 0) return [];
  const { statement, values } = selectLinks.bind(possible);
  const { rows } = await tx.query(statement, values);
  return rows.map(toLink);
}

const selectLinksOfSegments: Statement = {
  name: 'select_links_of_segments',
  text: `select ${linkColumns} from unnest($2::uuid[], $3::int8[]) as shown(table_id, generation)
    join links on links.table_id = shown.table_id and links.generation = shown.generation
    where links.segment = any($1::int8[]) and links.kept is not null`,
};

/** The links of these segments in the present generations of these tables. */
export async function findLinksOfSegments(
  tx: Tx,
  segments: readonly bigint[],
  tables: readonly Pick<Table, 'id' | 'generation'>[],
): Promise<Link[]> {
  const values = [segments, tables.map(({ id }) => id), tables.map(({ generation }) => generation)];
  const { rows } = await tx.query(selectLinksOfSegments, values);
  return rows.map(toLink);
}

type WantedRow = RowAddress & { readonly tableId: string };

/** The limits keep each look-up a probe of an index: without them the planner may read whole tables once for each row. */
const selectRows = new RowsStatement<WantedRow>(
  'select_rows',
  [
    ['uuid', (row) => row.tableId], ['int8', (row) => row.version], ['int4', (row) => row.ordinal],
    ['int4', (row) => row.index],
  ],
  (rows) => `select ${linkColumns}, wanted.index, change.version, change.body, stored.version, stored.body
    from ${rows} as wanted(table_id, version, ordinal, index)
    join lateral (
      select links.* from links join tables on tables.id = links.table_id and tables.generation = links.generation
        and not tables.deleted
      where links.table_id = wanted.table_id and links.version = wanted.version
        and links.ordinal = wanted.ordinal and wanted.index < links.rows limit 1
    ) links on true
    left join lateral (
      select version, body from changes where changes.link = links.key and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = links.segment and segment_rows.index = links.first + wanted.index limit 1
    ) stored on true`,
);

/** These rows of present generations as they are stored; those that never were are left out. */
export async function findRows(tx: Tx, wanted: readonly WantedRow[]): Promise<StoredRow[]> {
  const { statement, values } = selectRows.bind(wanted);
  const { rows } = await tx.query(statement, values);
  return rows.map((row) => {
    const [index, ...stored] = row.slice(linkColumnCount);
    return toStoredRow(toLink(row), index, stored);
  });
}

interface WantedRowOfLink {
  readonly link: Link;
  readonly index: number;
}

const selectRowsOfLinks = new RowsStatement<WantedRowOfLink>(
  'select_rows_of_links',
  [
    ['int8', ({ link }) => link.key], ['int8', ({ link }) => link.segment],
    ['int4', ({ link, index }) => link.first + index], ['int4', ({ index }) => index], ['int4', (_, at) => at],
  ],
  (rows) => `select wanted.place, change.version, change.body, stored.version, stored.body
    from ${rows} as wanted(link, segment, segment_index, index, place)
    left join lateral (
      select version, body from changes where changes.link = wanted.link and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = wanted.segment and segment_rows.index = wanted.segment_index limit 1
    ) stored on true`,
);

/** Rows of links that are known already. Each index is one of its link's. */
export async function findRowsOfLinks(tx: Tx, wanted: readonly WantedRowOfLink[]): Promise<StoredRow[]> {
  const { statement, values } = selectRowsOfLinks.bind(wanted);
  const { rows } = await tx.query(statement, values);
  return rows.map(([place, ...stored]) => {
    const { link, index } = wanted[place]!;
    return toStoredRow(link, index, stored);
  });
}

function toStoredRow(link: Link, index: number, stored: ResultRow): StoredRow {
  const [changeVersion, changeBody, tailVersion, body] = stored;
  if (changeVersion !== null) {
    return { link, index, version: changeVersion, body: changeBody, stored: 'presented', decidedAt: changeVersion };
  }
  if (body === null) throw new Error(`row ${index} of link ${link.key} has no body: the read model is damaged`);
  const { presented, cells, schemaVersion } = link;
  const version = tailVersion ?? link.version;
  if (presented !== null) return { link, index, version, body, stored: 'presented', decidedAt: presented };
  return { link, index, version, body, stored: receivedForm(cells), decidedAt: schemaVersion };
}

const upsertLinks = new RowsStatement<Link>(
  'upsert_links',
  [
    ['int8', (link) => link.key], ['uuid', (link) => link.tableId], ['int8', (link) => link.version],
    ['int4', (link) => link.ordinal], ['int8', (link) => link.generation], ['int8', (link) => link.schemaVersion],
    ['bool', (link) => link.wrap], ['int8', (link) => link.presented], ['bool', (link) => link.cells],
    ['text', (link) => (link.kept === null ? null : Buffer.from(link.kept).toString('base64'))], ['int8', (link) => link.segment],
    ['int4', (link) => link.first], ['int4', (link) => link.rows], ['int4', (link) => link.bytes],
    ['bool', (link) => link.changed], ['int4', (link) => link.deleted],
  ],
  (rows) => `insert into links (key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, kept, segment,
      first, rows, bytes, changed, deleted)
    select key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, decode(kept, 'base64'), segment,
      first, rows, bytes, changed, deleted
    from ${rows} as given(key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, kept, segment,
      first, rows, bytes, changed, deleted)
    on conflict (key) do update set rows = excluded.rows, bytes = excluded.bytes, changed = excluded.changed,
      deleted = excluded.deleted`,
);

export function storeLinks(links: readonly Link[]): BoundStatement {
  return upsertLinks.bind(links);
}

const insertTailRows = new RowsStatement<TailRow>(
  'insert_tail_rows',
  [
    ['int8', (row) => row.segment], ['int4', (row) => row.index], ['int8', (row) => row.version],
    ['lines', (row) => row.body],
  ],
  (rows) => `insert into segment_rows (segment, index, version, body) select * from ${rows} as given`,
);

export function storeTailRows(rows: readonly TailRow[]): BoundStatement {
  return insertTailRows.bind(rows);
}

/** No row body is an empty text, so an empty line stands for a deletion. */
const upsertChanges = new RowsStatement<StoredRow>(
  'upsert_changes',
  [
    ['int8', (row) => row.link.key], ['int4', (row) => row.index], ['int8', (row) => row.version],
    ['lines', (row) => row.body ?? ''],
  ],
  (rows) => `insert into changes (link, index, version, body)
    select link, index, version, nullif(body, '') from ${rows} as given(link, index, version, body)
    on conflict (link, index) do update set version = excluded.version, body = excluded.body`,
);

export function storeChanges(rows: readonly StoredRow[]): BoundStatement {
  return upsertChanges.bind(rows);
}
