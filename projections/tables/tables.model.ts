/** Tables: which rows they show, in which order, under which schema, and the changes of these rows. */
import { namedBy, rowsOf, tableOf } from '../../src/language/events/event-names.ts';
import type { EventData } from '../../src/language/events/event.ts';
import { comesAsSegments, segmentsIn } from '../../src/language/events/row-source.ts';
import type { Model } from '../../src/log/model.ts';
import { storing } from '../../src/storage/database/rows-statement.ts';
import type { OpenBodyChange } from '../segments/body-block.ts';
import { closingBody } from '../segments/decide-open-body.ts';
import { decideAddRows } from './decide-add-rows.ts';
import { batchSequence } from './decide-batch.ts';
import { decideCreateTable } from './decide-create-table.ts';
import { decideDeleteRow } from './decide-delete-row.ts';
import { decideDeleteTable } from './decide-delete-table.ts';
import { decideOverwriteTable } from './decide-overwrite-table.ts';
import { decidePatchRow } from './decide-patch-row.ts';
import { decidePatchTable } from './decide-patch-table.ts';
import { isRefusedWithoutRows } from './guards.ts';
import { smallExtentBytes } from './compaction.ts';
import { compareRows } from './compare/compare-rows.ts';
import { digestedTables } from './compare/digest-tables.ts';
import { insertRetainedIds } from './retained-ids.store.ts';
import {
  changeOf,
  findVisibleRowsOfExtents,
  insertChanges,
  insertExtents,
  insertTailRows,
  updateExtents,
  upsertChanges,
} from './extents.store.ts';
import { KeyedRowQueries } from './keys/keyed-rows.queries.ts';
import { lacksKeyed, loadKeys, loadUpserted } from './keys/load-keys.ts';
import { KeyPreparationEntity, PreparedPlacesEntity } from './keys/key-preparation.entity.ts';
import { loadDeclaredKeys } from './keys/load-declared-keys.ts';
import { loadKeyRuns } from './keys/load-key-runs.ts';
import { EndedKeyEntity, RowKeyEntity } from './keys/row-key.entity.ts';
import {
  deleteRowKeys,
  entryOf,
  insertEndedKeys,
  insertRowKeys,
  insertRuns,
  rowKeyOf,
  takeIndex,
  updateRowKeys,
} from './keys/row-keys.store.ts';
import { loadRetainedIds } from './load-retained-ids.ts';
import { loadTables, rowsNamedBy, type LoadingTables } from './load-tables.ts';
import { loadTrials, triesRows } from './load-trials.ts';
import { PageQueries } from './pages.queries.ts';
import { Presenters } from './read/presenters.ts';
import { RememberedTables } from './remembered-tables.ts';
import { SchemaCache } from './schema-cache.ts';
import {
  AppLinkEntity,
  ChangeEntity,
  GenerationEntity,
  ExtentEntity,
  IssuedIdsEntity,
  TableEntity,
  TableSchemaEntity,
} from './table.entity.ts';
import { tableGarbage } from './tables.garbage.ts';
import { RowQueries } from './rows.queries.ts';
import { TableQueries } from './tables.queries.ts';
import { tableSections } from './tables.sections.ts';
import type { TableChange } from './table.ts';
import { TablesState, type TableStates } from './tables.state.ts';
import {
  insertAppLinks,
  insertGenerations,
  insertSchemas,
  insertTables,
  schemaRow,
  updateTables,
} from './tables.store.ts';

/** The queries on whole tables, on single rows, and on pages of rows. */
interface AllTableQueries {
  readonly tables: TableQueries;
  readonly rows: RowQueries;
  readonly pages: PageQueries;
  readonly keyedRows: KeyedRowQueries;
}

export const tables: Model<
  TablesState,
  TableStates,
  TableChange | OpenBodyChange,
  RememberedTables,
  SchemaCache,
  AllTableQueries
> = {
  entities: [
    TableEntity,
    TableSchemaEntity,
    ExtentEntity,
    IssuedIdsEntity,
    GenerationEntity,
    ChangeEntity,
    AppLinkEntity,
    RowKeyEntity,
    EndedKeyEntity,
    KeyPreparationEntity,
    PreparedPlacesEntity,
  ],
  storage: [
    // Free space on each page allows HOT updates of hot rows, which touch no index.
    'alter table tables set (fillfactor = 50)',
    'alter table changes set (fillfactor = 85)',
    'alter table extents set (fillfactor = 85)',
    // For pages of a team's tables.
    'create index tables_listed on tables (team_id, created, id) where not deleted',
    // For compaction: finds out quickly that there is nothing to do.
    'create index extents_received on extents (table_id) where presented is null',
    'create index extents_presented on extents (table_id, presented, version) where presented is not null',
    'create index tables_widened on tables (id) where widened > 0',
    `create index extents_small on extents (table_id, version, ordinal) where not merged and bytes < ${smallExtentBytes}`,
    // For garbage collection.
    'create index tables_forgotten on tables (id) where forgotten',
    'create index extents_to_erase on extents (erase_at) where changed',
    'create index table_schemas_to_look_at on table_schemas (look_at)',
    'create index key_preparations_by_time on key_preparations (is_taken, touched_at)',
    // Slices of hashes are read.
    'alter table prepared_places alter column hashes set storage external',
    'create index generations_shown on generations (ended_at) where not expired',
    'create index generations_to_clear on generations (table_id, version) where expired and not cleared',
    'create index generations_to_forget on generations (ended_at, version) where cleared',
  ],
  decisions: {
    TableCreateRequested: closingBody(decideCreateTable),
    TablePatchRequested: decidePatchTable,
    TableDeleteRequested: decideDeleteTable,
    RowsAddRequested: closingBody(decideAddRows),
    TableOverwriteRequested: closingBody(decideOverwriteTable),
    RowPatchRequested: decidePatchRow,
    RowDeleteRequested: decideDeleteRow,
  },
  sequences: { TableBatchRequested: batchSequence },
  changes: {
    table: ({ tables }, { table }) => tables.change(table),
    appLinks: ({ tables }, { tableId, appIds }) => tables.addAppLinks(tableId, appIds),
    schema: ({ tables }, { tableId, version, schema }) => tables.addSchema({ tableId, version, schema }),
    extent: ({ tables }, { extent }) => tables.changeExtent(extent),
    generation: ({ tables }, { generation }) => tables.endGeneration(generation),
    tailRows: ({ tables }, change) => tables.addTailRows(change),
    row: ({ tables }, change) => tables.changeRow(change),
    keys: ({ tables }, change) => tables.keys.change(change),
    keyRuns: ({ tables }, change) => tables.keys.addRuns(change),
    preparedKeys: ({ tables }, change) => tables.keys.takeIndex(change),
    endedKey: ({ tables }, change) => tables.keys.end(change),
  },
  open: (newKey, journal) => new TablesState(newKey, journal),
  openCommitted: () => new SchemaCache(),
  keysAtMost,
  load: loadTables,
  loadMore,
  lacks: lacksKeyed,
  loadsMuch: (data) => triesRows(data) || declaresKey(data),
  // Rows are tried, and their keys are read, as they are stored.
  readsStored: ({ type }) => type === 'TablePatchRequested',
  storesMuch: (data) => data.type === 'TablePatchRequested' || bringsManyRows(data),
  store: (state) => [
    ...storing(state.newTables(), insertTables),
    ...storing(state.changedTables(), updateTables),
    ...storing(state.newSchemas.map(schemaRow), insertSchemas),
    ...storing(state.newAppLinks, insertAppLinks),
    ...storing(state.newExtents(), insertExtents),
    ...storing(state.changedExtents(), updateExtents),
    ...storing(state.endedGenerations, insertGenerations),
    ...storing(state.newTailRows, insertTailRows),
    ...storing(state.newRetainedIds, insertRetainedIds),
    ...storing(state.newChanges().map(changeOf), insertChanges),
    ...storing(state.laterChanges().map(changeOf), upsertChanges),
    ...storing(state.keys.newKeys().map(rowKeyOf), insertRowKeys),
    ...storing(state.keys.movedKeys().map(rowKeyOf), updateRowKeys),
    ...storing(state.keys.freedKeys().map(entryOf), deleteRowKeys),
    ...storing(state.keys.endedKeys, insertEndedKeys),
    ...state.keys.newRuns.flatMap((change) => [...insertRuns(change)]),
    ...state.keys.takenIndexes.flatMap(takeIndex),
  ],
  remember: (remembered, state) => {
    const known = remembered?.hasRoomFor(state) ? remembered : new RememberedTables();
    if (!known.hasRoomFor(state)) return null;
    known.take(state);
    return known;
  },
  lookAhead: (tx, remembered, events) =>
    remembered.lookAhead(rowsNamedBy(events), (wanted) => findVisibleRowsOfExtents(tx, wanted)),
  isRefused: isRefusedWithoutRows,
  needs,
  makes,
  // Only rows are looked up ahead. Most other things are remembered.
  loadsAhead: ['RowPatchRequested', 'RowDeleteRequested'],
  queries: (database) => {
    const presenters = new Presenters(database);
    return {
      tables: new TableQueries(database),
      rows: new RowQueries(database, presenters),
      pages: new PageQueries(database, presenters),
      keyedRows: new KeyedRowQueries(database, presenters),
    };
  },
  sections: tableSections,
  comparisons: [compareRows],
  units: [digestedTables],
  garbage: tableGarbage,
};

/** Whether the keys of all rows of a table may have to be read. */
function declaresKey(data: EventData): boolean {
  return data.type === 'TablePatchRequested' && data.key !== undefined && data.key !== null;
}

/** Whether the rows of a table come in several blocks, or from a stash. */
function bringsManyRows(data: EventData): boolean {
  const source = rowsOf(data);
  return (source?.kind === 'body' || source?.kind === 'stash') && tableOf(data) !== null;
}

async function loadMore(loading: LoadingTables): Promise<void> {
  await loadRetainedIds(loading);
  await loadTrials(loading);
  await loadKeys(loading);
  await loadUpserted(loading);
  await loadKeyRuns(loading);
  await loadDeclaredKeys(loading);
}

/**
 * One key per extent. A few rows may need two, for a tail and its segment. The number for a stash is known only once
 * the stash is loaded.
 */
function keysAtMost(data: EventData): number {
  const source = rowsOf(data);
  if (source === null || tableOf(data) === null) return 0;
  return source.kind === 'few' ? 2 : segmentsIn(source);
}

/** The present rows of a table. */
function needs(data: EventData): string[] {
  const needsRows =
    data.type === 'TableOverwriteRequested' || (data.type === 'RowsAddRequested' && data.mode === 'upsert');
  return needsRows || namedBy(data, 'row') !== null ? [tableOf(data)!] : [];
}

function makes(data: EventData): string[] {
  const [source, tableId] = [rowsOf(data), tableOf(data)];
  if (source === null || tableId === null) return [];
  return data.type === 'TableOverwriteRequested' || comesAsSegments(source) ? [tableId] : [];
}
