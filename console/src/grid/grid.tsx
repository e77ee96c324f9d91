import type {
  CellEditingStartedEvent,
  ColDef,
  GridApi,
  GridReadyEvent,
  IGetRowsParams,
  OverlayType,
  RowClassRules,
  ValueSetterParams,
} from 'ag-grid-community';
import { AgGridReact } from 'ag-grid-react';
import { useCallback, useImperativeHandle, useMemo, useRef, useState, type ReactElement, type Ref } from 'react';
import type { AnyRow, Table, TableDescription, Versioned } from '../../../clients/typescript/src/index.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { textOfType } from '../tables/column-types.ts';
import { isErrorOfType, isPassing } from '../ui/describe-error.ts';
import { showCount } from '../ui/format.ts';
import { useNotices } from '../ui/notices.tsx';
import { useWholeCell } from './whole-cell.tsx';
import { cellOfText, textOfCell } from './cell-text.ts';
import { ColumnDialog } from './column-dialogs.tsx';
import type { ColumnTask } from './column-menu.tsx';
import { describeColumn } from './columns.tsx';
import { Editing } from './editing.ts';
import { ConflictDialog, MisfitDialog, type OpenConflict, type OpenMisfit } from './conflict-dialog.tsx';
import { describeInexact, describeMisfit, viewOf, type ColumnFilter } from './filters.ts';
import { initialStateOf, keepState } from './kept-layout.ts';
import { pastedWrites, readClipboard, writeClipboard } from './clipboard.ts';
import { requireOneStep, type RowChange, type RowWrites, type SeenRow } from './guarded-rows.ts';
import { blockBetween, filling, hasSeveral, type Block, type CellPlace } from './range.ts';
import { useRowWrites } from './row-writes.tsx';
import { RowsReader, versionSeen, withCell, withCells, type GridRow, type View } from './rows-reader.ts';
import { theme } from './theme.ts';
import { nonce } from '../ui/nonce.ts';
import { saveCell, type CellChange } from './save-cell.ts';

// Outside of the component, because the grid starts over when it gets a new object.
const rowSelection = { mode: 'multiRow', headerCheckbox: false, enableClickSelection: false } as const;
const defaultColDef: ColDef<GridRow> = { minWidth: 80, width: 160, resizable: true };
/** The page itself says why there are no rows. */
const overlaysOfPage: OverlayType[] = ['noRows', 'noMatchingRows'];
const rowClassRules: RowClassRules<GridRow> = { loading: ({ data }) => data === undefined };

const blockRows = 500;
const blocksKept = 12;

export interface GridHandle {
  /** Reads the rows again. */
  readonly refresh: () => void;
  /** The selected rows, as they are now on the screen. */
  readonly selected: () => readonly SeenRow[];
  /**
   * Deletes the rows, unless somebody has changed one since they were shown, and reports the result. Deleted rows are
   * no longer selected. Never rejects.
   */
  readonly deleteRows: (rows: readonly SeenRow[]) => Promise<void>;
  /** Scrolls to the last row. */
  readonly showLast: (rows: number) => void;
}

export interface GridStatus {
  readonly view: View;
  /** How many rows the view has; null while it is unknown. */
  readonly rows: number | null;
  /** The row up to which pages have been read, on the way to a place for the first time; null if none is under way. */
  readonly step: number | null;
  readonly selected: number;
  /** Whether some rows could not be read and can be read later. */
  readonly isMissing: boolean;
  /** What is wrong with the filters; null if nothing is wrong. */
  readonly problem: string | null;
}

interface GridProps {
  readonly table: Table;
  readonly description: TableDescription;
  readonly canWrite: boolean;
  readonly onStatus: (changes: Partial<GridStatus>) => void;
  readonly onWritten: () => void;
  /** Called when a change of columns has taken effect. */
  readonly onChanged: () => void;
  readonly ref: Ref<GridHandle>;
}

/** The rows of a table of any size. Only the visible rows are read. */
export function Grid({ table, description, canWrite, onStatus, onWritten, onChanged, ref }: GridProps): ReactElement {
  const notices = useNotices();
  const api = useRef<GridApi<GridRow> | null>(null);
  const reader = useRef(new RowsReader(table, {}));
  const now = useRef({ description, onStatus });
  now.current = { description, onStatus };
  const seen = useRef<{ readonly rowID: string; readonly row: Promise<Versioned<AnyRow>> } | null>(null);
  /** The cell where the selected block begins, if it has more than one cell; and the block that is drawn. */
  const from = useRef<CellPlace | null>(null);
  const range = useRef<Block | null>(null);
  const [conflict, setConflict] = useState<OpenConflict | null>(null);
  const [misfit, setMisfit] = useState<OpenMisfit | null>(null);
  const [task, setTask] = useState<ColumnTask | null>(null);
  const whole = useWholeCell(canWrite);
  const [editing] = useState(() => new Editing());
  const { columns } = description.schema;

  const source = useMemo(
    () => ({
      getRows: ({
        startRow,
        endRow,
        filterModel,
        sortModel,
        successCallback,
        failCallback,
      }: IGetRowsParams<GridRow>): void => {
        const view = viewOf(
          now.current.description.schema.columns,
          filterModel as Record<string, ColumnFilter>,
          sortModel,
        );
        const current = reader.current.isOf(view) ? reader.current : (reader.current = new RowsReader(table, view));
        now.current.onStatus({ view });
        const inexact = describeInexact(
          now.current.description.schema.columns,
          filterModel as Record<string, ColumnFilter>,
        );
        if (inexact !== null) {
          successCallback([], 0);
          now.current.onStatus({ rows: 0, step: null, problem: inexact });
          return;
        }
        const rowsOf = (read: readonly GridRow[]): number | undefined => {
          if (read.length < endRow - startRow) return startRow + read.length;
          return current.count ?? (current.isQuery ? undefined : Math.max(now.current.description.rows, endRow));
        };
        current
          .read(startRow, endRow - startRow, (step) => now.current.onStatus({ step }))
          .then(
            (rows) => {
              const last = rowsOf(rows);
              editing.show(api.current, startRow, endRow, () => {
                successCallback(rows, last);
                now.current.onStatus({ rows: last ?? null, step: null, problem: null });
              });
            },
            (error: unknown) => {
              const problem = describeMisfit(error, now.current.description.schema.columns);
              if (problem !== null) {
                successCallback([], 0);
                now.current.onStatus({ rows: 0, step: null, problem });
                return;
              }
              failCallback();
              now.current.onStatus({ step: null, isMissing: isPassing(error) });
              // The version of the query is gone: start over.
              if (isErrorOfType(error, 'continuation_expired')) refresh();
              else notices.fail(error);
            },
          );
      },
    }),
    [table, notices, editing],
  );

  const refresh = useCallback(() => {
    const grid = api.current;
    if (grid === null || grid.isDestroyed()) return;
    editing.renew(
      grid,
      () =>
        void reader.current.renew(now.current.description.rows).then(() => {
          if (grid.isDestroyed()) return;
          if (!reader.current.isQuery) grid.setRowCount(now.current.description.rows, true);
          grid.refreshInfiniteCache();
        }, notices.fail),
    );
  }, [notices, editing]);

  const { write: writeAll, question } = useRowWrites(table, columns, editing, {
    // At once: else the next change would seem to meet a change by somebody else.
    onWritten: ({ changes }, version) => {
      for (const { seen: shown, after } of changes) {
        const node = api.current?.getRowNode(shown.row.$rowID);
        if (after === null || node?.data === undefined) continue;
        const at = node.rowIndex ?? -1;
        editing.show(api.current, at, at + 1, () => node.updateData(withCells(shown.row, after, version)));
      }
    },
    onEnd: () => {
      onWritten();
      refresh();
    },
  });

  useImperativeHandle(
    ref,
    () => ({
      refresh,
      selected: () => api.current?.getSelectedNodes().map(({ data, rowIndex }) => seenRow(data!, rowIndex)) ?? [],
      deleteRows: async (rows) => {
        const changes = rows.map((each) => ({ seen: each, after: null }));
        await writeAll({ changes, added: [] }, (written) => {
          const deleted = new Set(written.changes.map(({ seen: { row } }) => row.$rowID));
          const nodes = api.current?.getSelectedNodes().filter(({ id }) => deleted.has(id!)) ?? [];
          api.current?.setNodesSelected({ nodes, newValue: false });
          return `${showCount(deleted.size, 'row')} deleted.`;
        });
      },
      showLast: (rows) => {
        api.current?.setRowCount(rows, true);
        api.current?.ensureIndexVisible(rows - 1);
      },
    }),
    [refresh, table, notices],
  );

  /** Shows a value before the service has stored it. If the service refuses it, shows the old value again. */
  async function write(
    change: CellChange,
    row: Versioned<AnyRow>,
    onSchemaError: 'abort' | 'updateSchema' = 'abort',
  ): Promise<void> {
    try {
      const found = await saveCell(table, change, row, onSchemaError);
      if (found === null) onWritten();
      else
        setConflict({ change, theirs: found.row[change.columnID], row: { data: found.row, version: found.version } });
    } catch (error) {
      showCell(change.rowID, change.columnID, change.before);
      if (isErrorOfType(error, 'column_has_invalid_value'))
        setMisfit({ change, row, message: (error as Error).message });
      else notices.fail(error);
    }
  }

  function showCell(rowID: string, columnID: string, value: unknown): void {
    const node = api.current?.getRowNode(rowID);
    if (node?.data !== undefined) node.updateData(withCell(node.data, columnID, value ?? undefined));
  }

  function setValue({ data, newValue, oldValue, column }: ValueSetterParams<GridRow>, kind: ColumnType): boolean {
    const [rowID, columnID] = [data.$rowID, column.getColId()];
    const typed = textOfCell(newValue);
    if (typed === textOfCell(oldValue)) return false;
    const row = seen.current?.rowID === rowID ? seen.current.row : table.row(rowID);
    const change = { rowID, columnID, before: oldValue as unknown };
    const fail = (error: unknown): void => {
      showCell(rowID, columnID, oldValue);
      notices.fail(error);
    };
    try {
      const after = cellOfText(kind, typed);
      (data as Record<string, unknown>)[columnID] = after ?? undefined;
      editing.during(async () => write({ ...change, after }, await row)).catch(fail);
      return true;
    } catch (error) {
      row
        .then((known) =>
          setMisfit({ change: { ...change, after: typed }, row: known, message: (error as Error).message }),
        )
        .catch(notices.fail);
      return false;
    }
  }

  const [initialState] = useState(() => initialStateOf(table.id, columns));
  const columnDefs = useMemo(
    () =>
      columns.map((column) =>
        describeColumn(column, canWrite, range, (params) => setValue(params, textOfType(column.type)), setTask),
      ),
    [columns, canWrite],
  );

  function onEditingStarted({ data }: CellEditingStartedEvent<GridRow>): void {
    if (data === undefined) return;
    const row = table.row(data.$rowID);
    // Errors are handled when the change is saved.
    row.catch(() => undefined);
    seen.current = { rowID: data.$rowID, row };
  }

  function onFocused(): void {
    const before = range.current;
    range.current = chosen();
    // Redraw only then: cells that are redrawn between two clicks would miss the double click.
    if (hasSeveral(before) || hasSeveral(range.current)) api.current?.refreshCells({ force: true });
  }

  function focused(): CellPlace | null {
    const cell = api.current?.getFocusedCell() ?? null;
    return cell === null ? null : { row: cell.rowIndex, columnID: cell.column.getColId() };
  }

  /**
   * With Shift, extends the block from where it began. Runs before the focus moves, because the focus event comes after
   * the next key.
   */
  function beforeMove(isExtended: boolean): void {
    from.current = isExtended ? (from.current ?? focused()) : null;
  }

  /** Moves to the first or last column, of the row or of the first or last row. */
  function goToEdge(key: 'Home' | 'End', ofAll: boolean): void {
    const grid = api.current!;
    const columnID = shownColumns().at(key === 'End' ? -1 : 0);
    if (columnID === undefined) return;
    const lastRow = grid.getDisplayedRowCount() - 1;
    const row = ofAll ? (key === 'End' ? lastRow : 0) : focused()!.row;
    grid.ensureIndexVisible(row);
    grid.ensureColumnVisible(columnID);
    grid.setFocusedCell(row, columnID);
  }

  /** The selected block of cells. */
  function chosen(): Block | null {
    const place = focused();
    return place === null ? null : blockBetween(from.current ?? place, place, shownColumns());
  }

  function shownColumns(): string[] {
    return api
      .current!.getAllDisplayedColumns()
      .map((column) => column.getColId())
      .filter((id) => columns.some((column) => column.id === id));
  }

  /** The rows in these places (`to` exclusive), as they are on the screen. Throws an Error if some are not loaded. */
  function loaded(first: number, to: number): GridRow[] {
    const rows = Array.from(
      { length: to - first },
      (_, index) => api.current!.getDisplayedRowAtIndex(first + index)?.data,
    );
    if (rows.some((row) => row === undefined))
      throw new Error('Some of these rows are not loaded: select fewer, or export the table.');
    return rows as GridRow[];
  }

  function onCopy(event: React.ClipboardEvent): void {
    const block = chosen();
    if (block === null || isTyping(event.target)) return;
    try {
      writeClipboard(event, loaded(block.top, block.bottom + 1), block.columns);
    } catch (error) {
      notices.fail(error);
    }
  }

  function onPaste(event: React.ClipboardEvent): void {
    const block = chosen();
    if (block === null || !canWrite || isTyping(event.target)) return;
    const pasted = readClipboard(event);
    if (pasted.length === 0) return;
    try {
      requireOneStep(Math.max(pasted.length, rowsOf(block)));
      const cells = filling(pasted, block);
      const shown = shownColumns();
      const ids = shown.slice(shown.indexOf(block.columns[0]!)).slice(0, Math.max(...cells.map((line) => line.length)));
      const over = loaded(block.top, Math.min(block.top + cells.length, api.current!.getDisplayedRowCount()));
      const seenRows = cells.map((_, index) =>
        over[index] === undefined ? null : seenRow(over[index], block.top + index),
      );
      const into = ids.map((id) => columns.find((column) => column.id === id)!);
      void writeAll(pastedWrites(into, seenRows, cells), describePaste);
    } catch (error) {
      notices.fail(error);
    }
  }

  /** Changes the loaded rows of a block. `tell` says for how many rows that was done. */
  function changeBlock(
    { top, bottom }: Pick<Block, 'top' | 'bottom'>,
    after: () => AnyRow,
    tell: (rows: string) => string,
  ): void {
    try {
      requireOneStep(rowsOf({ top, bottom }));
      const values = after();
      const changes = loaded(top, bottom + 1).map((row, index): RowChange => ({
        seen: seenRow(row, top + index),
        after: values,
      }));
      void writeAll({ changes, added: [] }, (written) => tell(showCount(written.changes.length, 'row')));
    } catch (error) {
      notices.fail(error);
    }
  }

  /** Empties all cells of the block. */
  function clear(block: Block): void {
    const empty = Object.fromEntries(block.columns.map((id) => [id, null]));
    changeBlock(
      block,
      () => empty,
      (rows) => `Cells of ${rows} cleared.`,
    );
  }

  /** Writes the first row of the block into its other rows. */
  function fillDown({ top, bottom, columns: ids }: Block): void {
    changeBlock(
      { top: top + 1, bottom },
      () => {
        const [first] = loaded(top, top + 1);
        return Object.fromEntries(ids.map((id) => [id, first![id] ?? null]));
      },
      (rows) => `Cells of ${rows} filled.`,
    );
  }

  return (
    <>
      <div
        className="grid"
        onCopy={onCopy}
        onPaste={onPaste}
        onKeyDownCapture={(event) => {
          const { key, shiftKey, ctrlKey, metaKey, target } = event;
          if (/^(Arrow|Page|Home|End|Tab)/.test(key)) beforeMove(shiftKey && key !== 'Tab');
          if ((key === 'Home' || key === 'End') && !isTyping(target) && focused() !== null) {
            // The grid would move to another row.
            event.stopPropagation();
            event.preventDefault();
            goToEdge(key, ctrlKey || metaKey);
            return;
          }
          const isFill = key.toLowerCase() === 'd' && (ctrlKey || metaKey);
          if (!canWrite || isTyping(target) || !(isFill || /^(Delete|Backspace)$/.test(key))) return;
          const block = chosen();
          if (!hasSeveral(block) || (isFill && block.top === block.bottom)) return;
          // The grid would clear only the focused cell, and the browser would bookmark the page.
          event.stopPropagation();
          event.preventDefault();
          if (isFill) fillDown(block);
          else clear(block);
        }}
        onMouseDownCapture={({ shiftKey }) => beforeMove(shiftKey)}
      >
        <AgGridReact<GridRow>
          theme={theme}
          styleNonce={nonce}
          rowModelType="infinite"
          datasource={source}
          columnDefs={columnDefs}
          getRowId={rowIdOf}
          {...(initialState !== null && { initialState })}
          maintainColumnOrder
          cacheBlockSize={blockRows}
          maxBlocksInCache={blocksKept}
          infiniteInitialRowCount={Math.max(1, description.rows)}
          maxConcurrentDatasourceRequests={1}
          blockLoadDebounceMillis={80}
          {...(canWrite && { rowSelection })}
          defaultColDef={defaultColDef}
          rowClassRules={rowClassRules}
          suppressOverlays={overlaysOfPage}
          singleClickEdit={false}
          stopEditingWhenCellsLoseFocus
          undoRedoCellEditing={false}
          suppressCutToClipboard
          suppressDragLeaveHidesColumns
          onGridReady={({ api: opened }: GridReadyEvent<GridRow>) => {
            api.current = opened;
          }}
          onCellEditingStarted={onEditingStarted}
          onCellEditingStopped={() => editing.ended()}
          {...whole.listeners}
          onCellFocused={onFocused}
          onStateUpdated={(event) => keepState(table.id, event)}
          onSelectionChanged={({ api: grid }) => onStatus({ selected: grid.getSelectedNodes().length })}
        />
      </div>
      {whole.dialog}
      {task !== null && (
        <ColumnDialog
          task={task}
          table={table}
          description={description}
          onChanged={onChanged}
          onClose={() => setTask(null)}
        />
      )}
      {conflict !== null && (
        <ConflictDialog
          conflict={conflict}
          onTheirs={() => {
            showCell(conflict.change.rowID, conflict.change.columnID, conflict.theirs);
            setConflict(null);
          }}
          onMine={() => {
            setConflict(null);
            void write({ ...conflict.change, before: conflict.theirs }, conflict.row);
          }}
        />
      )}
      {question}
      {misfit !== null && (
        <MisfitDialog
          misfit={misfit}
          column={columns.find(({ id }) => id === misfit.change.columnID)!}
          onClose={() => setMisfit(null)}
          onWiden={() => {
            setMisfit(null);
            showCell(misfit.change.rowID, misfit.change.columnID, misfit.change.after);
            void write(misfit.change, misfit.row, 'updateSchema');
          }}
        />
      )}
    </>
  );
}

function rowIdOf({ data }: { readonly data: GridRow }): string {
  return data.$rowID;
}

function rowsOf({ top, bottom }: Pick<Block, 'top' | 'bottom'>): number {
  return bottom - top + 1;
}

function describePaste({ changes, added }: RowWrites): string {
  return `${showCount(changes.length, 'row')} changed, ${showCount(added.length, 'row')} added.`;
}

/** A copy of a row as it is now on the screen, because later writes change the grid's own object. */
function seenRow(row: GridRow, index: number | null): SeenRow {
  return { place: index === null ? null : index + 1, row: { ...row }, version: versionSeen(row) };
}

/** Whether the target is a field, such as the editor of a cell or a filter. */
function isTyping(target: EventTarget): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}
