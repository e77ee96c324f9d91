/**
 * Random commands for the model test: valid and invalid requests on a few tables and stashes, so that sequences of them
 * interact.
 */
import { fc } from './property.ts';
import type { Json } from './column-types.ts';
import type { Cells, ColumnChanges, Key, Mode } from './model.ts';

const typeArb = fc.constantFrom(
  'boolean',
  'number',
  'date',
  'dateTime',
  'string',
  'json',
  'array<number>',
  'array<date>',
  'array<string>',
  'array<boolean>',
);
const valueArb = fc.constantFrom<Json[]>(
  true,
  1,
  2,
  2.5,
  'x',
  '1',
  '2024-01-01',
  '2024-01-01T10:00:00Z',
  '2024-01-01 10:00',
  [1],
  [2.5, 1],
  ['x'],
  ['2024-01-01'],
  [true],
  [1, 'x'],
  [],
  { k: 1 },
  [[1]],
  [null],
  null,
);
const idArb = fc.constantFrom('a', 'b', '10', '__proto__');
const givenIdArb = fc.oneof({ weight: 30, arbitrary: idArb }, { weight: 1, arbitrary: fc.constant('$stashID') });

/** Up to three pairs of a column ID and a value, without repeated IDs. */
function cellsArb<T>(ids: fc.Arbitrary<string>, things: fc.Arbitrary<T>): fc.Arbitrary<[string, T][]> {
  return fc.uniqueArray(fc.tuple(ids, things), { maxLength: 3, selector: ([id]) => id });
}

const rowArb = cellsArb(givenIdArb, valueArb);
const modeArb = fc.constantFrom<Mode[]>('abort', 'dropColumns', 'updateSchema');
const matchArb = fc.constantFrom('none', 'none', 'fresh', 'stale', 'table', 'later');
const columnsArb = fc.option(cellsArb(idArb, typeArb));
const idsOfKeyArb = fc.uniqueArray(idArb, { minLength: 1, maxLength: 2 });
/** Most tables get a key later, because a schema seldom has just these columns. */
const givenKeyArb: fc.Arbitrary<Key> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: idsOfKeyArb },
);

export interface Create {
  readonly kind: 'create';
  readonly columns: readonly (readonly [string, string])[] | null;
  /** Counts only with columns. */
  readonly key: Key;
  readonly rows: readonly Cells[];
  /** The stash that is imported instead of rows; null: none. */
  readonly stash: string | null;
  readonly mode: Mode;
}

export interface Add {
  readonly kind: 'add';
  readonly table: number;
  readonly rows: readonly Cells[];
  readonly stash: Create['stash'];
  readonly times: number;
  readonly mode: Mode;
  readonly match: string;
}

export interface Patch {
  readonly kind: 'patch';
  readonly table: number;
  readonly row: number;
  readonly cells: Cells;
  readonly mode: Mode;
  readonly match: string;
}

export interface Delete {
  readonly kind: 'delete';
  readonly table: number;
  readonly row: number;
  readonly match: string;
}

export interface Overwrite {
  readonly kind: 'overwrite';
  readonly table: number;
  readonly columns: Create['columns'];
  readonly key: Key;
  readonly rows: readonly Cells[];
  readonly stash: Create['stash'];
  /** For each row, the number of the row whose ID it brings, among all rows that ever existed; null: none. */
  readonly kept: readonly (number | null)[];
  readonly times: number;
  readonly mode: Mode;
  readonly match: string;
}

export interface BatchCommand {
  readonly kind: 'batch';
  readonly table: number;
  readonly operations: readonly {
    readonly op: 'add' | 'patch' | 'delete';
    readonly row: number;
    readonly cells: Cells;
    readonly match: string;
  }[];
  readonly mode: Mode;
  readonly match: string;
}

/** Changes of columns. Many name columns that do not exist. */
export interface Alter extends ColumnChanges {
  readonly kind: 'alter';
  readonly table: number;
  readonly match: string;
}

/** Declares a key, or removes it. */
export interface DeclareKey {
  readonly kind: 'declareKey';
  readonly table: number;
  readonly key: Key;
  readonly match: string;
}

/** A query for the rows whose cell in a column equals that of some row, or differs from it, sorted by the column. */
export interface Ask {
  readonly kind: 'ask';
  readonly table: number;
  readonly column: string;
  readonly row: number;
  readonly op: 'eq' | 'ne';
  readonly descending: boolean;
}

export interface PutChunk {
  readonly kind: 'putChunk';
  readonly stash: string;
  readonly serial: string;
  readonly rows: readonly Cells[];
  readonly times: number;
  /** The table whose row IDs the rows bring, as in an overwrite. */
  readonly table: number;
  readonly kept: Overwrite['kept'];
}

export interface DeleteStash {
  readonly kind: 'deleteStash';
  readonly stash: string;
}

/** A client's request. When it runs, its numbers and names are resolved to tables, rows and stashes that exist then. */
export type ModelCommand =
  | Create
  | Add
  | Overwrite
  | Patch
  | Delete
  | BatchCommand
  | Alter
  | DeclareKey
  | Ask
  | PutChunk
  | DeleteStash;

const place = fc.nat(12);
const stashArb = fc.constantFrom('s', 't');
const sourceArb = fc.option(stashArb, { freq: 2 });
const createArb: fc.Arbitrary<Create> = fc.record({
  kind: fc.constant('create'),
  columns: columnsArb,
  key: givenKeyArb,
  rows: fc.array(rowArb, { maxLength: 4 }),
  stash: sourceArb,
  mode: modeArb,
});
const addArb: fc.Arbitrary<Add> = fc.record({
  // Many rows are stored differently from a few.
  kind: fc.constant('add'),
  table: place,
  rows: fc.array(rowArb, { maxLength: 4 }),
  times: fc.constantFrom(1, 1, 1, 1, 1, 60),
  stash: sourceArb,
  mode: modeArb,
  match: matchArb,
});
const patchArb: fc.Arbitrary<Patch> = fc.record({
  kind: fc.constant('patch'),
  table: place,
  row: place,
  cells: rowArb,
  mode: modeArb,
  match: matchArb,
});
const deleteArb: fc.Arbitrary<Delete> = fc.record({
  kind: fc.constant('delete'),
  table: place,
  row: place,
  match: matchArb,
});
/** Few different rows, so that operations meet. */
const batchArb: fc.Arbitrary<BatchCommand> = fc.record({
  kind: fc.constant('batch'),
  table: place,
  operations: fc.array(
    fc.record({
      op: fc.constantFrom('add', 'patch', 'patch', 'delete'),
      row: fc.oneof({ weight: 4, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: place }),
      cells: rowArb,
      match: fc.constantFrom('none', 'none', 'none', 'fresh', 'stale', 'table'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  mode: modeArb,
  match: matchArb,
});
const idsArb = fc.uniqueArray(idArb, { maxLength: 1 });
const alterArb: fc.Arbitrary<Alter> = fc.record({
  kind: fc.constant('alter'),
  table: place,
  remove: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: idsArb }),
  types: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: cellsArb(idArb, typeArb) }),
  add: fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: cellsArb(idArb, typeArb) }),
  order: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: idsArb }),
  clears: fc.boolean(),
  match: matchArb,
});
const declareKeyArb: fc.Arbitrary<DeclareKey> = fc.record({
  kind: fc.constant('declareKey'),
  table: place,
  key: fc.oneof({ weight: 4, arbitrary: idsOfKeyArb }, { weight: 1, arbitrary: fc.constant(null) }),
  match: matchArb,
});
const askArb: fc.Arbitrary<Ask> = fc.record({
  kind: fc.constant('ask'),
  table: place,
  column: idArb,
  row: place,
  op: fc.constantFrom('eq', 'ne'),
  descending: fc.boolean(),
});
const overwriteArb: fc.Arbitrary<Overwrite> = fc.record({
  kind: fc.constant('overwrite'),
  table: place,
  columns: columnsArb,
  key: givenKeyArb,
  rows: fc.array(rowArb, { maxLength: 4 }),
  kept: fc.array(fc.option(fc.nat(200)), { maxLength: 200 }),
  times: fc.constantFrom(1, 1, 1, 60),
  stash: sourceArb,
  mode: modeArb,
  match: matchArb,
});
const putChunkArb: fc.Arbitrary<PutChunk> = fc.record({
  kind: fc.constant('putChunk'),
  stash: stashArb,
  serial: fc.constantFrom('1', '2', '10', '007', '7', 'a'),
  rows: fc.array(rowArb, { maxLength: 4 }),
  times: fc.constantFrom(1, 1, 1, 60),
  table: place,
  kept: fc.array(fc.option(fc.nat(20)), { maxLength: 4 }),
});
const deleteStashArb: fc.Arbitrary<DeleteStash> = fc.record({ kind: fc.constant('deleteStash'), stash: stashArb });
const commandArb: fc.Arbitrary<ModelCommand> = fc.oneof(
  { weight: 1, arbitrary: createArb },
  { weight: 3, arbitrary: addArb },
  { weight: 4, arbitrary: patchArb },
  { weight: 2, arbitrary: deleteArb },
  { weight: 4, arbitrary: batchArb },
  { weight: 3, arbitrary: alterArb },
  { weight: 4, arbitrary: declareKeyArb },
  { weight: 2, arbitrary: askArb },
  { weight: 2, arbitrary: overwriteArb },
  { weight: 4, arbitrary: putChunkArb },
  { weight: 1, arbitrary: deleteStashArb },
);

/** A table with a key in the first step, and then writes whose rows fit it and often have equal keys. */
const keyedRowArb = fc
  .record({ a: fc.constantFrom(1, 2, 3, null), b: fc.constantFrom('x', 'y', null) }, { requiredKeys: [] })
  .map((cells): Cells => Object.entries(cells));
const onKeyedTable = { table: 0, stash: null, mode: 'abort', match: 'none', times: 1 } as const;
const keyedKeyArb = fc.constantFrom(['a'], ['a', 'b'], ['b', 'a']);
const keyedSequenceArb: fc.Arbitrary<[Create, ModelCommand[]]> = fc.tuple(
  keyedKeyArb.map((key): Create => {
    const columns = [['a', 'number'] as const, ['b', 'string'] as const];
    const rows: Cells[] = [
      [
        ['a', 1],
        ['b', 'x'],
      ],
      [
        ['a', 2],
        ['b', 'x'],
      ],
      [['a', 3]],
    ];
    return { ...onKeyedTable, kind: 'create', columns, key, rows };
  }),
  fc.array(
    fc.oneof(
      {
        weight: 2,
        arbitrary: fc.tuple(addArb, keyedRowArb).map(([add, row]) => ({ ...add, ...onKeyedTable, rows: [row] })),
      },
      {
        weight: 4,
        arbitrary: fc
          .tuple(patchArb, keyedRowArb, fc.nat(3))
          .map(([patch, cells, row]) => ({ ...patch, ...onKeyedTable, cells, row })),
      },
      {
        weight: 4,
        arbitrary: fc.tuple(batchArb, fc.array(keyedRowArb, { minLength: 6, maxLength: 6 })).map(([batch, rows]) => ({
          ...batch,
          ...onKeyedTable,
          operations: batch.operations.map((operation, at) => ({ ...operation, cells: rows[at]!, match: 'none' })),
        })),
      },
      { weight: 1, arbitrary: deleteArb.map((given) => ({ ...given, ...onKeyedTable })) },
      { weight: 1, arbitrary: overwriteArb.map((given) => ({ ...given, ...onKeyedTable, columns: null })) },
      {
        weight: 1,
        arbitrary: fc.option(keyedKeyArb).map((key): DeclareKey => ({ ...onKeyedTable, kind: 'declareKey', key })),
      },
      { weight: 1, arbitrary: askArb.map((ask): Ask => ({ ...ask, table: 0, column: 'a', op: 'eq' })) },
    ),
    { minLength: 4, maxLength: 12, size: 'max' },
  ),
);

export const sequenceArb: fc.Arbitrary<[Create, ModelCommand[]]> = fc.oneof(
  { weight: 2, arbitrary: fc.tuple(createArb, fc.array(commandArb, { minLength: 1, maxLength: 14 })) },
  { weight: 1, arbitrary: keyedSequenceArb },
);
