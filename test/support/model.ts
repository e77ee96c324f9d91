/**
 * A reference model of the interface in memory, as simple as possible: tables of rows, their schemas and versions.
 * Tests tell it the version of each change. It knows when a request must not change the version. Numbers are compared
 * by value.
 */
import { isDeepStrictEqual } from 'node:util';
import { boundOf, converted, fits, itemOf, naturalType, presented, type Json } from './column-types.ts';
import { comparedValue } from './query-model.ts';

/** A row with its keys in the order of the request, which JavaScript objects would change. */
export type Cells = readonly (readonly [string, Json])[];
export type Mode = 'abort' | 'dropColumns' | 'updateSchema';

interface ModelRow {
  readonly id: string;
  cells: Map<string, Json>;
  /** The row's own version, which a widening does not change. */
  version: bigint;
}

/**
 * The result of a write: an error, or an effect to apply once the version is known. `changed`: whether the write has an
 * effect.
 */
export type Outcome =
  | { readonly error: string }
  | { readonly changed: boolean; take(version: bigint, ids: readonly string[]): void };

/** An operation of a batch. */
export type ModelOperation =
  | { readonly op: 'add'; readonly cells: Cells }
  | { readonly op: 'patch'; readonly id: string; readonly cells: Cells; readonly ifMatch: bigint | null }
  | { readonly op: 'delete'; readonly id: string; readonly ifMatch: bigint | null };

/** Of a row that a batch has changed, while its version is not known: above all others. */
const pending = 2n ** 64n;

/** No list names a column twice. */
export interface ColumnChanges {
  readonly remove: readonly string[];
  readonly types: readonly (readonly [id: string, type: string])[];
  readonly add: readonly (readonly [id: string, type: string])[];
  readonly order: readonly string[];
  readonly clears: boolean;
}

interface Fitted {
  readonly columns: ReadonlyMap<string, string>;
  /** The accepted cells of each row; null clears a cell. */
  readonly rows: readonly ReadonlyMap<string, Json>[];
  readonly widened: boolean;
}

/** The IDs of the columns in which no two rows may be equal; null: there is no key. */
export type Key = readonly string[] | null;

const noStash = '400 stash_not_found';
const notUnique = '409 key_not_unique';

export class ModelTable {
  columns: ReadonlyMap<string, string>;
  rows: ModelRow[] = [];
  key: Key = null;
  version = 0n;
  /** The IDs of all rows that ever existed. */
  readonly issued = new Set<string>();
  /** The version since which older rows may read differently. */
  widened = 0n;

  /** Columns null: infer them from the first rows. */
  constructor(columns: ReadonlyMap<string, string> | null) {
    this.columns = columns ?? new Map();
  }

  etagOf({ version }: ModelRow): bigint {
    return version > this.widened ? version : this.widened;
  }

  /** `given` null: the stash does not exist. `ifMatch` null: there is no precondition. */
  add(given: readonly Cells[] | null, mode: Mode, ifMatch: bigint | null): Outcome {
    if (ifMatch !== null && this.version > ifMatch) return { error: '412 precondition_failed' };
    if (given === null) return { error: noStash };
    const fitted = fitRows(this.columns, given, mode, this.key);
    if (typeof fitted === 'string') return { error: fitted };
    if (hasTwins([...this.rows.map(({ cells }) => cells), ...fitted.rows], this.key, fitted.columns))
      return { error: notUnique };
    if (given.length === 0) return { changed: false, take: () => undefined };
    return {
      changed: true,
      take: (version, ids) => {
        this.#take(fitted, version);
        this.#append(fitted, version, ids);
      },
    };
  }

  /** `columns` null: keep those of the table, and its key. `ids`: for each row, the ID that it brings; null: none. */
  overwrite(
    columns: ReadonlyMap<string, string> | null,
    givenKey: Key,
    given: readonly Cells[] | null,
    ids: readonly (string | null)[],
    mode: Mode,
    ifMatch: bigint | null,
  ): Outcome {
    if (ifMatch !== null && this.version > ifMatch) return { error: '412 precondition_failed' };
    if (given === null) return { error: noStash };
    const key = columns === null ? this.key : givenKey;
    const wrongKey = errorOfKey(key, columns ?? this.columns);
    if (wrongKey !== null) return { error: wrongKey };
    const named = ids.filter((id) => id !== null);
    if (new Set(named).size < named.length || named.some((id) => !this.issued.has(id)))
      return { error: '400 request_validation_error' };
    const fitted = fitRows(columns ?? this.columns, given, mode, key);
    if (typeof fitted === 'string') return { error: fitted };
    if (hasTwins(fitted.rows, key, fitted.columns)) return { error: notUnique };
    return {
      changed: true,
      take: (version, answered) => {
        this.rows = [];
        this.key = key;
        this.#take(fitted, version);
        this.#append(fitted, version, answered);
      },
    };
  }

  patch(id: string, given: Cells, mode: Mode, ifMatch: bigint | null): Outcome {
    const row = this.rows.find((each) => each.id === id);
    if (row === undefined) return { error: '404 row_not_found' };
    if (ifMatch !== null && row.version > ifMatch) return { error: '412 precondition_failed' };
    const fitted = fitRows(this.columns, [given], mode, this.key);
    if (typeof fitted === 'string') return { error: fitted };
    const before = present(row.cells, fitted.columns);
    const after = withoutEmpty(new Map([...before, ...fitted.rows[0]!]));
    const all = this.rows.map((each) => (each === row ? after : each.cells));
    if (hasTwins(all, this.key, fitted.columns)) return { error: notUnique };
    const rowChanges = !isDeepStrictEqual(before, after);
    return {
      changed: rowChanges || !isDeepStrictEqual(this.columns, fitted.columns),
      take: (version) => {
        this.#take(fitted, version);
        if (rowChanges) Object.assign(row, { cells: after, version });
      },
    };
  }

  /** Changes the columns. Without `clears`, cells that do not fit a new type make the change fail. */
  changeColumns(
    { remove, types, add, order, clears }: ColumnChanges,
    ifMatch: bigint | null,
  ): Outcome & { readonly misfits?: ReadonlyMap<string, number> } {
    if (ifMatch !== null && this.version > ifMatch) return { error: '412 precondition_failed' };
    const known = new Map(this.columns);
    for (const id of remove) if (!known.has(id)) return { error: '422 column_id_not_found' };
    for (const id of remove) known.delete(id);
    for (const [id] of types) if (!known.has(id)) return { error: '422 column_id_not_found' };
    const before = new Map(known);
    for (const [id, type] of types) known.set(id, type);
    for (const [id] of add) if (known.has(id)) return { error: '422 column_id_not_unique' };
    for (const [id, type] of add) known.set(id, type);
    for (const id of order) if (!known.has(id)) return { error: '422 column_id_not_found' };
    const columns = new Map([...order.map((id) => [id, known.get(id)!] as const), ...known]);

    const misfits = new Map<string, number>();
    const rows = this.rows.map(({ cells }) => {
      const kept = new Map<string, Json>();
      for (const [id, value] of cells) {
        const from = before.get(id);
        if (from === undefined) continue;
        const cell = converted(value, from, known.get(id)!);
        if (cell === undefined) misfits.set(id, (misfits.get(id) ?? 0) + 1);
        else kept.set(id, cell);
      }
      return kept;
    });
    if (misfits.size > 0 && !clears) return { error: '422 column_has_invalid_value' };
    const keepsKey = this.key?.every((id) => !remove.includes(id) && known.get(id) === this.columns.get(id)) ?? true;
    if (!keepsKey) return { error: '400 request_validation_error' };
    const idsBefore = [...this.columns.keys()];
    const isReordered = [...columns.keys()]
      .filter((id) => before.has(id))
      .some((id, at) => id !== [...before.keys()][at]);
    const rereads = remove.length > 0 || isReordered || [...before].some(([id, type]) => known.get(id) !== type);
    const changed = rereads || add.length > 0 || [...columns.keys()].some((id, at) => id !== idsBefore[at]);
    return {
      changed,
      misfits,
      take: (version) => {
        this.rows.forEach((row, at) => (row.cells = rows[at]!));
        this.columns = columns;
        this.version = version;
        if (rereads) this.widened = version;
      },
    };
  }

  /** Null: removes the key. */
  declareKey(key: Key, ifMatch: bigint | null): Outcome {
    if (ifMatch !== null && this.version > ifMatch) return { error: '412 precondition_failed' };
    const error = errorOfKey(key, this.columns);
    if (error !== null) return { error };
    const cells = this.rows.map((row) => row.cells);
    if (hasTwins(cells, key, this.columns)) return { error: notUnique };
    return {
      changed: !isDeepStrictEqual(key, this.key),
      take: (version) => Object.assign(this, { key, version }),
    };
  }

  delete(id: string, ifMatch: bigint | null): Outcome {
    const row = this.rows.find((each) => each.id === id);
    if (row === undefined) return { changed: false, take: () => undefined };
    if (ifMatch !== null && row.version > ifMatch) return { error: '412 precondition_failed' };
    return {
      changed: true,
      take: (version) => {
        this.version = version;
        this.rows = this.rows.filter((each) => each !== row);
      },
    };
  }

  /** `counts`: as the header says them. */
  batch(
    operations: readonly ModelOperation[],
    mode: Mode,
    ifMatch: bigint | null,
  ): Outcome & { readonly counts?: string } {
    if (ifMatch !== null && this.version > ifMatch) return { error: '412 precondition_failed' };
    const given = operations.flatMap((operation) => ('cells' in operation ? [operation.cells] : []));
    const fitted = fitRows(this.columns, given, mode, this.key);
    if (typeof fitted === 'string') return { error: fitted };
    const { columns } = fitted;
    const areTwins = (): boolean => {
      const cells = rows.map((row) => row.cells);
      return hasTwins(cells, this.key, columns);
    };
    const rows = this.rows.map((row) => ({ ...row, cells: present(row.cells, fitted.columns) }));
    const fittedRows = fitted.rows.values();
    const added = new Map<number, (typeof rows)[number]>();
    const counts = { added: 0, patched: 0, unchanged: 0, deleted: 0 };
    for (const [at, operation] of operations.entries()) {
      if (operation.op === 'add') {
        const row = { id: '', cells: withoutEmpty(fittedRows.next().value!), version: pending };
        added.set(at, row);
        rows.push(row);
        if (areTwins()) return { error: notUnique };
        counts.added += 1;
        continue;
      }
      const row = rows.find(({ id }) => id === operation.id);
      if (row === undefined && operation.op === 'patch') return { error: '404 row_not_found' };
      if (row !== undefined && operation.ifMatch !== null && row.version > operation.ifMatch)
        return { error: '412 precondition_failed' };
      const before = row?.cells;
      const after =
        row === undefined || operation.op === 'delete'
          ? undefined
          : withoutEmpty(new Map([...row.cells, ...fittedRows.next().value!]));
      if (isDeepStrictEqual(before, after)) counts.unchanged += 1;
      else if (after === undefined) {
        rows.splice(rows.indexOf(row!), 1);
        counts.deleted += 1;
      } else {
        Object.assign(row!, { cells: after, version: pending });
        if (areTwins()) return { error: notUnique };
        counts.patched += 1;
      }
    }
    return {
      counts: Object.entries(counts)
        .map(([what, count]) => `${what}=${count}`)
        .join(', '),
      changed: counts.unchanged < operations.length || !isDeepStrictEqual(this.columns, fitted.columns),
      take: (version, ids) => {
        this.#take(fitted, version);
        for (const [at, row] of added) this.issued.add((row.id = ids[at]!));
        this.rows = rows;
        for (const row of rows) if (row.version === pending) row.version = version;
      },
    };
  }

  #append({ rows }: Fitted, version: bigint, ids: readonly string[]): void {
    this.rows.push(...rows.map((cells, index) => ({ id: ids[index]!, cells: withoutEmpty(cells), version })));
    for (const id of ids) this.issued.add(id);
  }

  #take({ columns, widened }: Fitted, version: bigint): void {
    for (const row of this.rows) row.cells = present(row.cells, columns);
    this.columns = columns;
    this.version = version;
    if (widened) this.widened = version;
  }
}

/** Creates a table. If no columns are given, they are inferred, and then every value fits. */
export function createModelTable(
  columns: ReadonlyMap<string, string> | null,
  given: readonly Cells[] | null,
  mode: Mode,
  key: Key,
): { readonly table: ModelTable; readonly outcome: Outcome } {
  const table = new ModelTable(columns);
  const error = given === null ? noStash : errorOfKey(key, table.columns);
  if (error !== null) return { table, outcome: { error } };
  table.key = key;
  const added = table.add(given, columns === null ? 'updateSchema' : mode, null);
  if ('error' in added) return { table, outcome: added };
  const take = (version: bigint, ids: readonly string[]): void => {
    added.take(version, ids);
    table.version = version;
  };
  return { table, outcome: { changed: true, take } };
}

/** Whether two of these rows are equal in all columns of a key. */
function hasTwins(rows: readonly ReadonlyMap<string, Json>[], key: Key, columns: ReadonlyMap<string, string>): boolean {
  if (key === null) return false;
  const texts = rows.flatMap((cells) => {
    const values = key.map((id) => cells.get(id) ?? null);
    return values.includes(null)
      ? []
      : JSON.stringify(values.map((value, at) => String(comparedValue(value, columns.get(key[at]!)!))));
  });
  return new Set(texts).size < texts.length;
}

/** Why these columns cannot be a key; null if they can. */
function errorOfKey(key: Key, columns: ReadonlyMap<string, string>): string | null {
  for (const id of key ?? []) {
    const type = columns.get(id);
    if (type === undefined) return '422 column_id_not_found';
    if (type === 'json' || itemOf(type) !== null) return '400 request_validation_error';
  }
  return null;
}

/**
 * Fits rows to a schema. Returns the error of the first offending cell, if there is one. The types of the columns in
 * the key stay.
 */
function fitRows(columns: ReadonlyMap<string, string>, given: readonly Cells[], mode: Mode, key: Key): Fitted | string {
  const cells = given.flat();
  for (const [id, value] of cells) {
    const type = columns.get(id);
    if (type === undefined && mode !== 'dropColumns' && (id === '$stashID' || id === '$rowID'))
      return '422 column_id_reserved';
    if (type === undefined && mode === 'abort') return '422 column_id_not_found';
    const mustFit = mode === 'abort' || (mode === 'updateSchema' && key?.includes(id) === true);
    if (type !== undefined && mustFit && value !== null && !fits(type, value)) return '422 column_has_invalid_value';
  }
  const wider = mode === 'updateSchema' ? widen(columns, cells) : columns;
  const rows = given.map((row) => {
    const taken = row.filter(([id, value]) => {
      const type = wider.get(id);
      return type !== undefined && (value === null || mode === 'updateSchema' || fits(type, value));
    });
    return new Map(taken.map(([id, value]) => [id, value === null ? null : presented(value, wider.get(id)!)]));
  });
  return { columns: wider, rows, widened: [...columns].some(([id, type]) => wider.get(id) !== type) };
}

function widen(columns: ReadonlyMap<string, string>, cells: readonly (readonly [string, Json])[]): Map<string, string> {
  const wider = new Map<string, string | null>(columns);
  for (const [id, value] of cells) {
    const before = columns.get(id);
    const natural = naturalType(value);
    if (natural === null || (before !== undefined && (fits(before, value) || isWrapped(before, value)))) {
      wider.set(id, wider.get(id) ?? null);
      continue;
    }
    const known = wider.get(id) ?? null;
    wider.set(id, known === null ? natural : boundOf(known, natural));
  }
  return new Map([...wider].map(([id, type]) => [id, type ?? 'string']));
}

/** Whether a scalar fits an array column as its only item. */
function isWrapped(type: string, value: Json): boolean {
  const item = itemOf(type);
  return item !== null && typeof value !== 'object' && fits(item, value);
}

function present(cells: ReadonlyMap<string, Json>, columns: ReadonlyMap<string, string>): Map<string, Json> {
  return new Map([...cells].map(([id, value]) => [id, presented(value, columns.get(id)!)]));
}

function withoutEmpty(cells: ReadonlyMap<string, Json>): Map<string, Json> {
  return new Map([...cells].filter(([, value]) => value !== null));
}

/** Rows, and for each row the ID that it brings; null: none. */
export interface Chunk {
  readonly rows: readonly Cells[];
  readonly ids: readonly (string | null)[];
}

/** Stashes by name. */
export class ModelStashes {
  readonly #chunks = new Map<string, Map<string, Chunk>>();
  readonly #ended = new Set<string>();

  put(stash: string, serial: string, chunk: Chunk): void {
    this.#chunks.set(stash, (this.#chunks.get(stash) ?? new Map<string, Chunk>()).set(serial, chunk));
    this.#ended.delete(stash);
  }

  delete(stash: string): void {
    if (this.#chunks.delete(stash)) this.#ended.add(stash);
  }

  /** Whether a stash of this name existed and has ended, and no new one has begun since. */
  hasEnded(stash: string): boolean {
    return this.#ended.has(stash);
  }

  /** The rows of all its chunks, joined; null if the stash does not exist. */
  content(stash: string): Chunk | null {
    const chunks = this.#chunks.get(stash);
    if (chunks === undefined) return null;
    const areNumbers = [...chunks.keys()].every((serial) => /^[0-9]+$/.test(serial));
    const byText = ([a]: readonly [string, Chunk], [b]: readonly [string, Chunk]): number => (a < b ? -1 : 1);
    const byNumber: typeof byText = (a, b) => Number(a[0]) - Number(b[0]) || byText(a, b);
    const inOrder = [...chunks].sort(areNumbers ? byNumber : byText).map(([, chunk]) => chunk);
    return { rows: inOrder.flatMap(({ rows }) => rows), ids: inOrder.flatMap(({ ids }) => ids) };
  }
}
