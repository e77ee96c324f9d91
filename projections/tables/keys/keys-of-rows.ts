/** Computes the keys of the rows that a request brings, and lets the rows take them. */
import { rowsOf } from '../../../src/language/events/event-names.ts';
import type { Event } from '../../../src/language/events/event.ts';
import { rowTextOf } from '../../../src/language/events/row-bodies.ts';
import type { EventRows, RowSource } from '../../../src/language/events/row-source.ts';
import { holdsCells, presenterOf, receivedForm, type Presenter } from '../../../src/language/values/presentation.ts';
import type { Profile } from '../../../src/language/values/profile.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import { keyReaderOf, type RowKey } from '../../../src/language/values/row-key.ts';
import { findColumn, type TableSchema } from '../../../src/language/values/table-schema.ts';
import type { ArrivedRows } from '../../segments/arrived-rows.ts';
import type { KeyHolder, KeysChange } from './key-changes.ts';
import type { KeysState } from './keys.state.ts';
import { shownKey, type TableKey } from './table-key.ts';

/** A version above all others. Key columns never change their types, so no later type applies. */
const always = 2n ** 63n - 1n;

type SourceInEvent = Extract<RowSource, EventRows>;

/** Where the rows of a request are in its event; null if they came in earlier blocks or in a stash. */
export function carriedRows(event: Event): SourceInEvent | null {
  const source = rowsOf(event.data);
  return source !== null && (source.kind === 'few' || source.kind === 'block') ? source : null;
}

/** The keys of the rows in an event, in order; null for a row without one. They are computed once and cached. */
export function keysOfRows(
  event: Event,
  source: SourceInEvent,
  key: TableKey,
  schema: TableSchema,
): readonly (RowKey | null)[] {
  const before = known.get(event);
  if (before?.key === key) return before.keys;
  const keys = readKeys(event, source, key, schema);
  known.set(event, { key, keys });
  return keys;
}

const known = new WeakMap<Event, { readonly key: TableKey; readonly keys: readonly (RowKey | null)[] }>();

function readKeys(event: Event, source: SourceInEvent, key: TableKey, schema: TableSchema): (RowKey | null)[] {
  const { profile } = source;
  if (profile.rows === 0) return [];
  const present = keyPresenterOf(key, schema, profile);
  const read = keyReaderOf(key.columns);
  const { buffer, byteOffset, byteLength } = rowTextOf(event.body(), source);
  const bodies = Buffer.from(buffer, byteOffset, byteLength).toString().split('\n');
  return bodies.map((body) => read(present(body)));
}

/** Presents the key cells of rows that are stored as received. Reuse it for many rows. */
export function keyPresenterOf(key: TableKey, schema: TableSchema, profile: Profile): Presenter {
  const columns = key.columns.map(({ id }) => findColumn(schema, id)!);
  const stored = receivedForm(holdsCells(profile));
  return presenterOf({ columns }, { stored, decidedAt: always, wrap: false, rule: profile.rule });
}

export interface NewRows {
  readonly key: TableKey;
  /** Whether the index of the key begins with these rows, and so is empty before. */
  readonly isFirst: boolean;
  readonly keys: readonly (RowKey | null)[];
  readonly placeOf: ArrivedRows['placeOf'];
  /** The place of a new row, and its ID. */
  readonly holderOf: (row: number) => KeyHolder;
}

/** Takes the keys of new rows, or refuses the first row whose key another row has. */
export function takeKeys(
  state: KeysState,
  { key, isFirst, keys, placeOf, holderOf }: NewRows,
): { readonly change: KeysChange } | { readonly refusal: Refusal } {
  const rowsByText = new Map<string, number>();
  for (const [row, rowKey] of keys.entries()) {
    if (rowKey === null) continue;
    const earlier = rowsByText.get(rowKey.text);
    const holder = isFirst ? null : state.holder(key, rowKey.text);
    const other =
      earlier !== undefined ? placeOf({ row: earlier, position: 0 }) : holder === null ? null : `row ${holder.rowId}`;
    if (other !== null) return { refusal: keyNotUnique(placeOf({ row, position: 0 }), other, shownKey(key, rowKey)) };
    rowsByText.set(rowKey.text, row);
  }
  const taken = [...rowsByText].map(([text, row]) => [text, holderOf(row)] as const);
  return { change: { kind: 'keys', tableId: key.tableId, since: key.since, freed: [], taken } };
}

/** `row` and `other`: what a message calls the two rows. `shown`: their key (`shownKey`). */
export function keyNotUnique(row: string, other: string, shown: string): Refusal {
  return { type: 'key_not_unique', message: `${row}: ${other} has the same key, ${shown}` };
}
