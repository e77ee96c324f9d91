import type { ReactElement } from 'react';
import { titleOf, type Column } from '../tables/column-types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { showCount, showNumber } from '../ui/format.ts';
import { List } from '../ui/list.tsx';
import { textOfCell } from './cell-text.ts';
import { changedCells, type Overtaken, type RowConflict } from './guarded-rows.ts';

/** Maximum of rows in the list. */
const listedMax = 500;

/** Lists the rows that somebody else has changed, and asks what to do. Nothing is written until then. */
export function RowConflictsDialog({
  overtaken: { conflicts, others },
  columns,
  onCancel,
  onTheirs,
  onMine,
}: {
  readonly overtaken: Overtaken;
  readonly columns: readonly Column[];
  readonly onCancel: () => void;
  readonly onTheirs: () => void;
  readonly onMine: () => void;
}): ReactElement {
  const isDeletion = conflicts.every(({ after }) => after === null);
  const rest = others.changes.length + others.added.length;
  const all = conflicts.length + rest;
  const verb = isDeletion ? 'deleted' : 'changed';
  const areThere = conflicts.some(({ now }) => now !== null);
  const keep = isDeletion ? 'Keep these rows' : 'Keep what is there now';
  const replace = isDeletion ? 'Delete these rows too' : 'Replace with mine';
  return (
    <Dialog
      title={`Somebody else has changed ${showNumber(conflicts.length)} of ${showCount(all, 'row')}`}
      onClose={onCancel}
    >
      <p>
        {isDeletion ? 'Nothing is deleted yet.' : 'Your changes are not written yet.'}
        {rest > 0 &&
          ` With “${keep}”, only the other ${rest === 1 ? 'row is' : `${showNumber(rest)} rows are`} ${verb}.`}
      </p>
      <List
        label="Rows that somebody else has changed"
        headings={['Row', 'Column', 'It was', 'It is now', ...(isDeletion ? [] : ['You have written'])]}
      >
        {conflicts.slice(0, listedMax).flatMap((conflict) => linesOf(conflict, columns, isDeletion))}
      </List>
      {conflicts.length > listedMax && <p>And {showNumber(conflicts.length - listedMax)} more.</p>}
      {areThere && conflicts.some(({ now }) => now === null) && <p>A row that is deleted stays deleted.</p>}
      <footer>
        {rest > 0 && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
        <button type="button" className={areThere ? undefined : 'primary'} onClick={onTheirs}>
          {keep}
        </button>
        {areThere && (
          <button type="button" className={isDeletion ? 'danger' : 'primary'} onClick={onMine}>
            {replace}
          </button>
        )}
      </footer>
    </Dialog>
  );
}

/** One line for each cell of the row that somebody else has changed; of a deleted row, for each cell to write. */
function linesOf({ seen, after, now }: RowConflict, columns: readonly Column[], isDeletion: boolean): ReactElement[] {
  const ids = now === null ? Object.keys(after!) : changedCells(seen.row, now.row, after);
  return ids.map((id) => {
    const column = columns.find((each) => each.id === id);
    return (
      <tr key={`${seen.row.$rowID} ${id}`}>
        <th scope="row">{seen.place === null ? '' : showNumber(seen.place)}</th>
        <td>{column === undefined ? id : titleOf(column)}</td>
        <td>{shown(seen.row[id])}</td>
        <td>{now === null ? 'The row is deleted' : shown(now.row[id])}</td>
        {!isDeletion && <td>{shown(after![id])}</td>}
      </tr>
    );
  });
}

function shown(value: unknown): string {
  return textOfCell(value) || '(empty)';
}
