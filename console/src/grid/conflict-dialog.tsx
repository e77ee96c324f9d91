import type { ReactElement } from 'react';
import type { AnyRow, Versioned } from '../../../clients/typescript/src/index.ts';
import { classify } from '../../../src/language/values/json-value.ts';
import { allTypes, type ColumnType } from '../../../src/language/values/column-type.ts';
import { boundOfKnown } from '../../../src/language/values/lattice.ts';
import { nameOfType, textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { textOfCell } from './cell-text.ts';
import type { CellChange } from './save-cell.ts';

export interface OpenConflict {
  readonly change: CellChange;
  readonly theirs: unknown;
  readonly row: Versioned<AnyRow>;
}

/** Asks which value to keep, after somebody else has changed the same cell. */
export function ConflictDialog({
  conflict: { change, theirs },
  onTheirs,
  onMine,
}: {
  readonly conflict: OpenConflict;
  readonly onTheirs: () => void;
  readonly onMine: () => void;
}): ReactElement {
  return (
    <Dialog title="Somebody else has changed this cell" onClose={onTheirs}>
      <dl className="values">
        <dt>It was</dt>
        <dd>{textOfCell(change.before) || '(empty)'}</dd>
        <dt>It is now</dt>
        <dd>{textOfCell(theirs) || '(empty)'}</dd>
        <dt>You have written</dt>
        <dd>{textOfCell(change.after) || '(empty)'}</dd>
      </dl>
      <footer>
        <button type="button" onClick={onTheirs}>
          Keep what is there now
        </button>
        <button type="button" className="primary" onClick={onMine}>
          Replace with mine
        </button>
      </footer>
    </Dialog>
  );
}

export interface OpenMisfit {
  readonly change: CellChange;
  readonly row: Versioned<AnyRow>;
  /** The message of the service. */
  readonly message: string;
}

/** Offers a wider type for the column after the service has refused a value. */
export function MisfitDialog({
  misfit: { change, message },
  column,
  onWiden,
  onClose,
}: {
  readonly misfit: OpenMisfit;
  readonly column: Column;
  readonly onWiden: () => void;
  readonly onClose: () => void;
}): ReactElement {
  const type = textOfType(column.type);
  const wider = widenedBy(type, change.after);
  return (
    <Dialog title="The value does not fit the column" onClose={onClose}>
      <p>{message}</p>
      <p>
        Change <b>{titleOf(column)}</b> from {nameOfType(type)} to {nameOfType(wider)}? For everybody, its values are
        then sorted, filtered and added up as {nameOfType(wider)}, no longer as {nameOfType(type)}. No value is lost.
        You can change the type back once all values fit {nameOfType(type)} again.
      </p>
      <footer>
        <button type="button" onClick={onClose}>
          Keep {nameOfType(type)}
        </button>
        <button type="button" className="primary" onClick={onWiden}>
          Change to {nameOfType(wider)}
        </button>
      </footer>
    </Dialog>
  );
}

/** The type that the service gives a column of this type so that the value fits. */
function widenedBy(type: ColumnType, value: unknown): ColumnType {
  return boundOfKnown(type, classify(JSON.stringify(value), allTypes).natural)!;
}
