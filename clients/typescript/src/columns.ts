/** The columns of a table, their names, types and order. */
import { newKey } from './headers.ts';
import type { components, operations } from './interface.ts';
import type { Transport } from './transport.ts';
import { ifMatch, versionOf, type Version, type Versioned } from './versions.ts';

type Schemas = components['schemas'];

/** A column as the service shows it. */
export type Column = Schemas['Table']['schema']['columns'][number];

/** The definition of a new column, for a new or an existing table. */
export type NewColumn = Schemas['NewTableSchema']['columns'][number];

/** The cells of a column that do not fit its new type. */
export type ColumnMisfits = Schemas['ColumnMisfits'];

type Changes = operations['updateTable']['requestBody']['content']['application/json'];

export interface ColumnOptions {
  /**
   * The request takes effect only if the table has not changed since this version. Otherwise it throws TablogError
   * `precondition_failed`.
   */
  readonly ifMatch?: Version;
  readonly signal?: AbortSignal;
}

export interface ChangeTypeOptions extends ColumnOptions {
  /**
   * What to do if cells do not fit the new type. `abort` (default): change nothing, and throw TablogError
   * `column_has_invalid_value`. `clear`: empty these cells.
   */
  readonly onMisfit?: 'abort' | 'clear';
}

/** Each change takes effect in one step, however many rows the table has. */
export class Columns {
  readonly #transport: Transport;
  readonly #params: { readonly path: { readonly tableID: string } };

  constructor(transport: Transport, tableID: string) {
    this.#transport = transport;
    this.#params = { path: { tableID } };
  }

  /** The columns in their order. */
  async list(): Promise<readonly Column[]> {
    const { data } = await this.#transport.operations.GET('/tables/{tableID}', { params: this.#params });
    return data!.data.schema.columns;
  }

  /** Adds columns after the existing ones. They are empty in all existing rows. */
  async add(columns: readonly NewColumn[], options: ColumnOptions = {}): Promise<Version> {
    return (await this.#change({ add: [...columns] }, options)).version;
  }

  /** Removes columns with their values. If a column with the same ID is added later, it is empty. */
  async remove(ids: readonly string[], options: ColumnOptions = {}): Promise<Version> {
    return (await this.#change({ remove: [...ids] }, options)).version;
  }

  /** Shows a column under another name; null: under its ID. */
  async rename(id: string, displayName: string | null, options: ColumnOptions = {}): Promise<Version> {
    return (await this.#change({ columns: [{ id, displayName }] }, options)).version;
  }

  /** Puts these columns first, in this order. The others follow in their present order. */
  async reorder(ids: readonly string[], options: ColumnOptions = {}): Promise<Version> {
    return (await this.#change({ order: [...ids] }, options)).version;
  }

  /** Gives a column another type. If `onMisfit` is `clear`, returns what was cleared. */
  async changeType(
    id: string,
    type: NewColumn['type'],
    { onMisfit = 'abort', ...options }: ChangeTypeOptions = {},
  ): Promise<Versioned<readonly ColumnMisfits[]>> {
    return this.#change({ columns: [{ id, type }] }, options, { onMisfit });
  }

  /** Counts the cells of a column that do not fit another type. Changes nothing. */
  async tryType(
    id: string,
    type: NewColumn['type'],
    options: ColumnOptions = {},
  ): Promise<Versioned<readonly ColumnMisfits[]>> {
    return this.#change({ columns: [{ id, type }] }, options, { dryRun: 'true' });
  }

  async #change(
    body: Changes,
    options: ColumnOptions,
    query: NonNullable<operations['updateTable']['parameters']['query']> = {},
  ): Promise<Versioned<readonly ColumnMisfits[]>> {
    const { data, response } = await this.#transport.operations.PATCH('/tables/{tableID}', {
      params: { ...this.#params, query, header: { ...newKey(), ...ifMatch(options.ifMatch) } },
      body,
      ...(options.signal && { signal: options.signal }),
    });
    const { misfits = [] } = (data as { readonly data?: { readonly misfits: readonly ColumnMisfits[] } }).data ?? {};
    return { data: misfits, version: versionOf(response) };
  }
}
