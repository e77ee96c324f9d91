/** Column definitions of the grid. */
import type {
  CellClassParams,
  CellEditorSelectorResult,
  ColDef,
  ICellEditorParams,
  SuppressKeyboardEventParams,
  ValueSetterParams,
} from 'ag-grid-community';
import type { ReactElement } from 'react';
import { isArrayType, type ColumnType } from '../../../src/language/values/column-type.ts';
import { typesOnScreen, textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { Cell } from './cell.tsx';
import { ColumnMenu, opensMenu, type ColumnTask } from './column-menu.tsx';
import { textOfCell } from './cell-text.ts';
import { filterOptionsOf, isSortable } from './filters.ts';
import { hasSeveral, isWithin, type Block } from './range.ts';
import type { GridRow } from './rows-reader.ts';

/** Longer texts are edited in a multi-line field. */
const shortTextMax = 40;

/** A column of the grid. `range`: the selected block of cells. `valueSetter` gets the edited text. */
export function describeColumn(
  column: Column,
  canWrite: boolean,
  range: { readonly current: Block | null },
  valueSetter: (params: ValueSetterParams<GridRow>) => boolean,
  onTask: (task: ColumnTask) => void,
): ColDef<GridRow> {
  const kind = textOfType(column.type);
  return {
    colId: column.id,
    headerTooltip: `${column.id}: ${kind}`,
    ...headerOf(titleOf(column), kind, canWrite ? <ColumnMenu column={column} onTask={onTask} /> : null),
    suppressHeaderKeyboardEvent: ({ event }) => opensMenu(event),
    // By a getter, because `field` would take a dot in an ID for a path.
    valueGetter: ({ data }) => data?.[column.id],
    valueFormatter: ({ value }) => textOfCell(value),
    valueSetter,
    equals: (a, b) => textOfCell(a) === textOfCell(b),
    // A row cannot be edited before it is loaded.
    editable: ({ data }) => canWrite && data !== undefined,
    useValueFormatterForExport: false,
    cellEditorSelector: (params) => editorOf(kind, params),
    valueParser: ({ newValue }) => newValue as unknown,
    cellDataType: false,
    cellRenderer: Cell,
    cellRendererParams: { kind },
    sortable: isSortable(kind),
    suppressKeyboardEvent: isSpace,
    filter: 'agTextColumnFilter',
    filterParams: {
      filterOptions: filterOptionsOf(kind),
      maxNumConditions: 4,
      buttons: ['reset'],
      debounceMs: 400,
      trimInput: false,
      caseSensitive: true,
    },
    cellClass: kind === 'number' ? 'number' : '',
    cellClassRules: {
      'in-range': ({ rowIndex }: CellClassParams<GridRow>) =>
        hasSeveral(range.current) && isWithin(range.current, { row: rowIndex, columnID: column.id }),
    },
  };
}

/** The header of a column: its title, with its type below. */
export function headerOf(title: string, kind: string, menu: ReactElement | null = null): ColDef {
  return {
    headerName: title,
    headerClass: kind === 'number' ? 'ag-right-aligned-header' : '',
    headerComponentParams: { innerHeaderComponent: ColumnHead, innerHeaderComponentParams: { kind, menu } },
  };
}

function ColumnHead({
  displayName,
  kind,
  menu,
}: {
  readonly displayName: string;
  readonly kind: string;
  readonly menu: ReactElement | null;
}): ReactElement {
  return (
    <>
      <span className="column-head">
        <span>{displayName}</span> <small>{kind}</small>
      </span>
      {menu}
    </>
  );
}

/**
 * Gives editors text, because the grid would show JSON as `[object Object]`. Texts with line breaks get a multi-line
 * editor, because a single-line field would drop them.
 */
function editorOf(kind: ColumnType, { value: cell }: ICellEditorParams<GridRow>): CellEditorSelectorResult {
  const value = textOfCell(cell);
  const editor = isArrayType(kind) ? 'lines' : typesOnScreen[kind].editor;
  const isLong = value.length > shortTextMax || value.includes('\n');
  switch (editor === 'line' && isLong ? 'lines' : editor) {
    case 'choice':
      return { component: 'agSelectCellEditor', params: { value, values: ['', 'true', 'false'] } };
    case 'date':
      return { component: 'agDateStringCellEditor' };
    case 'line':
      return { component: 'agTextCellEditor', params: { value } };
    case 'lines': {
      const params = { value, maxLength: 1_000_000, rows: 8, cols: 50 };
      return { component: 'agLargeTextCellEditor', popup: true, params };
    }
  }
}

/** Keeps the grid from selecting the row: the space bar shows the cell. */
function isSpace({ event, editing }: SuppressKeyboardEventParams<GridRow>): boolean {
  return event.key === ' ' && !editing;
}
