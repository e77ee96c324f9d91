export type { Changed, RowOperation, WhereOptions } from './batch.ts';
export {
  Columns,
  type ChangeTypeOptions,
  type Column,
  type ColumnMisfits,
  type ColumnOptions,
  type NewColumn,
} from './columns.ts';
export { notTablog, TablogError, Unreachable, type ErrorType } from './errors.ts';
export type { components, operations, paths } from './interface.ts';
export type { Job, JobProgress, ListedJob } from './jobs.ts';
export type { Loaded, LoadOptions, LoadProgress, RowSource } from './load.ts';
export type {
  MadeOperatorToken,
  MadeToken,
  NewOperatorToken,
  NewToken,
  Operator,
  OperatorToken,
  Partition,
  PlanChange,
  Quarantine,
  Release,
  Team,
  TeamSummary,
  Token,
} from './operator.ts';
export type { Page, Pages } from './pages.ts';
export type {
  AnyRow,
  ColumnOf,
  Condition,
  GroupsQuery,
  OnSchemaError,
  RowChanges,
  RowsQuery,
  SortKey,
  StoredRow,
} from './rows.ts';
export { describeRowTypes, type TypedTable } from './row-types.ts';
export {
  Stash,
  type ChunkOptions,
  type ChunkRemarks,
  type Imported,
  type ImportOptions,
  type ImportTarget,
  type StashOptions,
} from './stash.ts';
export {
  Table,
  type Added,
  type ColumnType,
  type ExportFormat,
  type RowsPage,
  type TableDescription,
  type UpsertBodyOptions,
  type WriteOptions,
} from './table.ts';
export {
  Tablog,
  type Activity,
  type CreatedTable,
  type ListedUpload,
  type NewTable,
  type PageQuery,
  type SqlResult,
  type SqlValue,
  type TableSummary,
  type TokenDescription,
  type Usage,
} from './tablog.ts';
export type { Operations, TransportOptions } from './transport.ts';
export type { FileSource, UploadedFile, UploadOptions } from './uploads.ts';
export { versionOf, type Version, type Versioned } from './versions.ts';
