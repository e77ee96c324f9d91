/** Writes rows in one step, and only if nobody else has changed them since the person saw them. */
import type { AnyRow, RowOperation, Table, Version } from '../../../clients/typescript/src/index.ts';
import { isErrorOfType } from '../ui/describe-error.ts';
import { showBytes, showCount, showNumber } from '../ui/format.ts';
import { isSameCell } from './cell-text.ts';
import type { GridRow } from './rows-reader.ts';

/** A row as it is on the screen. */
export interface SeenRow {
  /** Its place on the screen, from 1; null if it has none any more. */
  readonly place: number | null;
  readonly row: GridRow;
  /** The version at which it was read. */
  readonly version: Version;
}

export interface RowChange {
  readonly seen: SeenRow;
  /** The cells to write; a null cell becomes empty. If this is null, the row is deleted. */
  readonly after: AnyRow | null;
}

/** What is written in one step. */
export interface RowWrites {
  readonly changes: readonly RowChange[];
  /** New rows, for the end of the table. */
  readonly added: readonly AnyRow[];
}

/** A change to a row in which somebody else has changed the same cells. */
export interface RowConflict extends RowChange {
  /** The row as it is now; null if somebody else has deleted it. */
  readonly now: SeenRow | null;
}

/** A change that was not written, because somebody else has changed some of its rows. */
export interface Overtaken {
  readonly conflicts: readonly RowConflict[];
  /** Everything else, with the rows as they are now. */
  readonly others: RowWrites;
}

/** `version`: that of the changed rows; null if nothing was changed. */
type Outcome = { readonly written: RowWrites; readonly version: Version | null } | { readonly overtaken: Overtaken };

/** The most rows of one step. */
const rowsMax = 10_000;
/** The most bytes that the cells of one step may have, if it changes rows. Rows that are only added have more room. */
const bytesMax = 1024 * 1024;
/** The most IDs in a query. */
const idsMax = 2000;
/** How often a step is tried while others change other cells of its rows. */
const triesMax = 5;

/** Throws an Error if these are too many rows for one step. */
export function requireOneStep(rows: number): void {
  if (rows > rowsMax)
    throw new Error(
      `These are ${showCount(rows, 'row')}, and one step has at most ${showNumber(rowsMax)}. Nothing was changed. Take fewer rows at a time, or import new rows as a file.`,
    );
}

/**
 * Writes all of this or nothing. Others may change other cells of the rows meanwhile. Throws an Error that says why
 * nothing was changed.
 */
export async function writeRows(table: Table, { changes, added }: RowWrites): Promise<Outcome> {
  requireOneStep(changes.length + added.length);
  requireRoom(changes, added);
  let writes: RowWrites = { changes, added };
  for (let tries = 1; ; tries += 1) {
    try {
      return { written: writes, version: await send(table, writes) };
    } catch (error) {
      if (!isErrorOfType(error, 'precondition_failed', 'row_not_found')) throw describeRefusal(error, writes);
      if (tries === triesMax)
        throw new Error('Others keep changing these rows. Nothing was changed. Try again.', { cause: error });
    }
    const { conflicts, others } = compare(writes, await readRows(table, writes.changes));
    if (conflicts.length > 0) return { overtaken: { conflicts, others } };
    writes = others;
  }
}

/** What to write if the changes of others stay. */
export function keepingTheirs({ others }: Overtaken): RowWrites {
  return others;
}

/** What to write if the changes of others are overwritten. A row that somebody has deleted stays deleted. */
export function replacingTheirs({ conflicts, others }: Overtaken): RowWrites {
  const replaced = conflicts.flatMap(({ after, now }) => (now === null ? [] : [{ seen: now, after }]));
  return { changes: [...others.changes, ...replaced], added: others.added };
}

/**
 * IDs of the columns whose cells differ from those on the screen: of the written columns, or of all columns if the row
 * is deleted.
 */
export function changedCells(seen: GridRow, now: GridRow, after: AnyRow | null): string[] {
  const columns = after === null ? [...new Set([...Object.keys(seen), ...Object.keys(now)])] : Object.keys(after);
  return columns.filter((id) => !isSameCell(seen[id], now[id]));
}

/** Resolves to the version of the changed rows; null if none is to be changed. */
async function send(table: Table, { changes, added }: RowWrites): Promise<Version | null> {
  // A batch has less room for rows.
  if (changes.length === 0 && added.length > 0) await table.add(added);
  if (changes.length === 0) return null;
  const changing = changes.map(({ seen, after }): RowOperation<AnyRow> => {
    const guarded = { rowID: seen.row.$rowID, ifMatch: seen.version };
    return after === null ? { op: 'delete', ...guarded } : { op: 'patch', row: after, ...guarded };
  });
  const adding = added.map((row): RowOperation<AnyRow> => ({ op: 'add', row }));
  return (await table.batch([...changing, ...adding])).version;
}

function requireRoom(changes: readonly RowChange[], added: readonly AnyRow[]): void {
  const rows = [...changes.flatMap(({ after }) => (after === null ? [] : [after])), ...added];
  if (changes.length === 0) return;
  const bytes = new Blob(rows.map((row) => JSON.stringify(row))).size;
  if (bytes > bytesMax)
    throw new Error(
      `These cells have ${showBytes(bytes)}, and one step that changes rows has at most ${showBytes(bytesMax)}. Nothing was changed. Take fewer rows at a time, or import new rows as a file.`,
    );
}

/** The rows as they are now, by ID. Those that are deleted are left out. */
async function readRows(table: Table, changes: readonly RowChange[]): Promise<ReadonlyMap<string, SeenRow>> {
  const ids = changes.map(({ seen }) => seen.row.$rowID);
  const now = new Map<string, SeenRow>();
  for (let at = 0; at < ids.length; at += idsMax) {
    const some = table.rows({ filter: { column: '$rowID', op: 'in', value: ids.slice(at, at + idsMax) } });
    for await (const { data, version } of some.pages())
      for (const row of data) now.set(row.$rowID, { place: null, row, version });
  }
  return now;
}

function compare({ changes, added }: RowWrites, rows: ReadonlyMap<string, SeenRow>): Overtaken {
  const conflicts: RowConflict[] = [];
  const renewed: RowChange[] = [];
  for (const { seen, after } of changes) {
    const found = rows.get(seen.row.$rowID);
    // A row to delete that is gone needs nothing more.
    if (found === undefined && after === null) continue;
    const now = found === undefined ? null : { ...found, place: seen.place };
    if (now === null || changedCells(seen.row, now.row, after).length > 0) conflicts.push({ seen, after, now });
    else renewed.push({ seen: now, after });
  }
  return { conflicts, others: { changes: renewed, added } };
}

/** The error as people read it, with the row on the screen. */
export function describeRefusal(error: unknown, { changes }: RowWrites): unknown {
  const said = /^operations\[(\d+)\](?:\.row)?(?:\.(.+?))?: (.*)$/s.exec((error as Error).message);
  if (said === null)
    return isErrorOfType(error, 'limit_exceeded')
      ? new Error('This is too much for one step. Nothing was changed. Take fewer rows at a time.', { cause: error })
      : error;
  const [, operation, column, reason] = said;
  const change = changes[Number(operation)];
  const place = change === undefined ? `New row ${Number(operation) - changes.length + 1}` : `Row ${change.seen.place}`;
  const cell = column === undefined ? place : `${place}, column ${column}`;
  return new Error(`${cell}: ${reason}. Nothing was changed.`, { cause: error });
}
