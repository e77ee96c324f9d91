export { TablogError, Unreachable, type ErrorType } from './errors.ts';
export type { components, operations, paths } from './interface.ts';
export type { Job, JobProgress } from './jobs.ts';
export type { Loaded, LoadOptions, LoadProgress, RowSource } from './load.ts';
export type { Page, Pages } from './pages.ts';
export {
  Table, type Added, type AnyRow, type Condition, type ExportFormat, type GroupsQuery, type NewColumn, type OnSchemaError, type RowChanges, type RowsPage, type RowsQuery,
  type StoredRow, type TableDescription, type WriteOptions,
} from './table.ts';
export { Tablog, type CreatedTable, type NewTable, type SqlResult, type SqlValue, type TableSummary } from './tablog.ts';
export type { Operations, TransportOptions } from './transport.ts';
export type { Version, Versioned } from './versions.ts';
