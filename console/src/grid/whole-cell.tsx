import type { CellDoubleClickedEvent, CellKeyDownEvent, FullWidthCellKeyDownEvent } from 'ag-grid-community';
import { useState, type ReactElement } from 'react';
import { isArrayType, itemKind, type ColumnType } from '../../../src/language/values/column-type.ts';
import { scalarOf } from '../tables/column-types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Scalar } from './cell.tsx';
import { numberOf } from '../ui/json-tokens.ts';
import { textOfCell } from './cell-text.ts';

interface Shown {
  readonly title: string;
  readonly kind: ColumnType;
  readonly value: unknown;
}

interface WholeCell {
  /** Handlers for the grid. */
  readonly listeners: {
    readonly onCellKeyDown: (event: CellKeyDownEvent | FullWidthCellKeyDownEvent) => void;
    readonly onCellDoubleClicked: (event: CellDoubleClickedEvent) => void;
  };
  /** The dialog with the cell; null while it is closed. */
  readonly dialog: ReactElement | null;
}

/** Shows a cell in full: with the space bar and, if nothing can be edited, with Enter and with a double click. */
export function useWholeCell(canEdit: boolean): WholeCell {
  const [shown, setShown] = useState<Shown | null>(null);

  function show({
    value,
    colDef: { headerName = '', cellRendererParams },
  }: CellKeyDownEvent | CellDoubleClickedEvent): void {
    const kind = (cellRendererParams as { readonly kind: ColumnType } | undefined)?.kind;
    if (kind !== undefined && value !== undefined && value !== null) setShown({ title: headerName, kind, value });
  }

  return {
    listeners: {
      onCellKeyDown: (event) => {
        const key = event.event as KeyboardEvent;
        // The grid reports a key some time after it was pressed. By then the editor may be closed, so the target of the
        // key event decides.
        const isOnCell = (key.target as Element).matches('.ag-cell, .ag-cell a');
        if (
          !('value' in event) ||
          !isOnCell ||
          event.api.getEditingCells().length > 0 ||
          (key.key !== ' ' && (key.key !== 'Enter' || canEdit))
        )
          return;
        key.preventDefault();
        show(event);
      },
      onCellDoubleClicked: (event) => {
        if (!canEdit) show(event);
      },
    },
    dialog: shown && (
      <Dialog title={shown.title} onClose={() => setShown(null)}>
        <div className="whole" role="region" aria-label={shown.title} tabIndex={0}>
          <Whole kind={shown.kind} value={shown.value} />
        </div>
      </Dialog>
    ),
  };
}

function Whole({ kind, value }: { readonly kind: ColumnType; readonly value: unknown }): ReactElement {
  if (isArrayType(kind) && Array.isArray(value))
    return (
      <ol>
        {value.map((each: unknown, index) => (
          <li key={index}>
            <Whole kind={itemKind(kind)} value={each} />
          </li>
        ))}
      </ol>
    );
  if (typeof value === 'object' && numberOf(value) === null) return <code>{JSON.stringify(value, null, 2)}</code>;
  return <Scalar kind={scalarOf(kind)} text={textOfCell(value)} />;
}
