import type { ReactElement } from 'react';
import { titleOf, type Column } from '../tables/column-types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { showCount, showNumber } from '../ui/format.ts';
import { textOfCell } from './cell-text.ts';
import { changedCells, type RowConflict } from './guarded-rows.ts';

/** Maximum of rows in the list. */
const listedMax = 500;

/** Lists the rows that were not written, with the changes that somebody else has made. */
export function RowConflictsDialog({
  conflicts,
  columns,
  onClose,
}: {
  readonly conflicts: readonly RowConflict[];
  readonly columns: readonly Column[];
  readonly onClose: () => void;
}): ReactElement {
  const isDeletion = conflicts.every(({ after }) => after === null);
  return (
    <Dialog
      title={`${showCount(conflicts.length, 'row was', 'rows were')} not ${isDeletion ? 'deleted' : 'changed'}`}
      onClose={onClose}
    >
      <p>Somebody else has changed these rows since this page showed them. Their changes are kept.</p>
      <div className="scroller" role="region" aria-label="Rows that somebody else has changed" tabIndex={0}>
        <table className="list">
          <thead>
            <tr>
              <th scope="col">Row</th>
              <th scope="col">Column</th>
              <th scope="col">It was</th>
              <th scope="col">It is now</th>
              {!isDeletion && <th scope="col">Not written</th>}
            </tr>
          </thead>
          <tbody>{conflicts.slice(0, listedMax).flatMap((conflict) => linesOf(conflict, columns, isDeletion))}</tbody>
        </table>
      </div>
      {conflicts.length > listedMax && <p>And {showNumber(conflicts.length - listedMax)} more.</p>}
      <footer>
        <button type="button" className="primary" onClick={onClose}>
          Show the rows as they are now
        </button>
      </footer>
    </Dialog>
  );
}

/**
 * One line for each cell that was not written. If the row was to be deleted, one line for each cell that has changed.
 */
function linesOf({ seen, after, now }: RowConflict, columns: readonly Column[], isDeletion: boolean): ReactElement[] {
  const ids = after === null ? changedCells(seen.row, now!, null) : Object.keys(after);
  return ids.map((id) => {
    const column = columns.find((each) => each.id === id);
    return (
      <tr key={`${seen.row.$rowID} ${id}`}>
        <th scope="row">{seen.place === null ? '' : showNumber(seen.place)}</th>
        <td>{column === undefined ? id : titleOf(column)}</td>
        <td>{shown(seen.row[id])}</td>
        <td>{now === null ? 'The row is deleted' : shown(now[id])}</td>
        {!isDeletion && <td>{shown(after![id])}</td>}
      </tr>
    );
  });
}

function shown(value: unknown): string {
  return textOfCell(value) || '(empty)';
}
