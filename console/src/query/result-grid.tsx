import type { ColDef } from 'ag-grid-community';
import { AgGridReact } from 'ag-grid-react';
import { useMemo, type ReactElement } from 'react';
import type { AnyRow, SqlResult } from '../../../clients/typescript/src/index.ts';
import { Cell } from '../grid/cell.tsx';
import { textOfCell } from '../grid/cell-text.ts';
import { headerOf } from '../grid/columns.tsx';
import { theme } from '../grid/theme.ts';
import { useWholeCell } from '../grid/whole-cell.tsx';
import { textOfType } from '../tables/column-types.ts';
import { nonce } from '../ui/nonce.ts';

/** The rows of an answer to SQL. */
export function ResultGrid({ result: { columns, data } }: { readonly result: SqlResult<AnyRow> }): ReactElement {
  const whole = useWholeCell(false);
  const columnDefs = useMemo(
    () =>
      columns.map(({ name, type }): ColDef<AnyRow> => {
        const kind = textOfType(type);
        return {
          colId: name,
          ...headerOf(name, kind),
          valueGetter: ({ data: row }) => row?.[name],
          cellRenderer: Cell,
          cellRendererParams: { kind },
          cellDataType: false,
          cellClass: kind === 'number' ? 'number' : '',
          valueFormatter: ({ value }) => textOfCell(value),
          minWidth: 80,
        };
      }),
    [columns],
  );
  return (
    <>
      <div className="grid">
        <AgGridReact<AnyRow>
          theme={theme}
          styleNonce={nonce}
          rowData={data as AnyRow[]}
          overlayNoRowsTemplate="The answer has no rows."
          columnDefs={columnDefs}
          enableCellTextSelection
          ensureDomOrder
          {...whole.listeners}
        />
      </div>
      {whole.dialog}
    </>
  );
}
