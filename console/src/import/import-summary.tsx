import type { ReactElement } from 'react';
import { Link } from 'wouter';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import type { WidenedColumn } from '../../../clients/file-import/widened-columns.ts';
import { nameOfType } from '../tables/column-types.ts';
import { showCount, showDuration, showNumber } from '../ui/format.ts';
import { Problem } from '../ui/problem.tsx';
import type { ImportOutcome } from './messages.ts';
import { CellList, RemedyHint, TextColumns } from './text-columns.tsx';

interface ImportSummaryProps {
  readonly outcome: ImportOutcome;
  /** The name of the table. */
  readonly name: string;
  readonly ms: number;
  readonly onClose: () => void;
}

/** The result of an import. */
export function ImportSummary({
  outcome: {
    result: { rows, tableID, shortLines, notes, droppedCells },
    widened,
    texts,
    problem,
  },
  name,
  ms,
  onClose,
}: ImportSummaryProps): ReactElement {
  return (
    <div className="running">
      <p role="status">
        {showCount(rows, 'row')} imported into{' '}
        <Link href={`/tables/${tableID}`} onClick={onClose}>
          {name}
        </Link>{' '}
        in {showDuration(ms)} ({showNumber((rows * 1000) / Math.max(ms, 1))} rows/s).
      </p>
      {shortLines > 0 && (
        <p>
          {showCount(shortLines, 'line has', 'lines have')} fewer cells than the header. The columns of the missing
          cells are empty.
        </p>
      )}
      {notes.map((note) => (
        <p key={note}>{note}.</p>
      ))}
      {droppedCells > 0 && (
        <p>
          {showCount(droppedCells, 'value')} did not fit and {droppedCells === 1 ? 'was' : 'were'} left out.
        </p>
      )}
      <TextColumns columns={texts.filter(({ id }) => !widened.some((column) => column.id === id))} onRemedy={null} />
      {widened.length > 0 && (
        <ul className="problem widened" aria-label="Columns with another type">
          {widened.map((column) => (
            <WidenedLine key={column.id} column={column} text={texts.find(({ id }) => id === column.id)} />
          ))}
        </ul>
      )}
      {problem !== null && (
        <Problem>
          The rows are imported. The service could not say whether columns have other types than in the preview:{' '}
          {problem.text}
        </Problem>
      )}
      <footer>
        <Link className="button primary" href={`/tables/${tableID}`} onClick={onClose}>
          Show the table
        </Link>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </div>
  );
}

/** A column with another type. `text`: the same column, if it became text because of some cells. */
function WidenedLine({
  column: { id, expected, type, cells, first },
  text,
}: {
  readonly column: WidenedColumn;
  readonly text: TextColumn | undefined;
}): ReactElement {
  return (
    <li>
      <b>{id}</b> became {nameOfType(type)}, not {nameOfType(expected)}: {showCount(cells, 'cell does', 'cells do')} not
      fit {nameOfType(expected)}. The first is <q>{first.text}</q>, in line {showNumber(first.line)}.
      {text !== undefined && text.first.length > 1 && (
        <>
          {' '}
          Then <CellList cells={text.first.slice(1)} />
          {text.misfits > text.first.length && ' and others'}.
        </>
      )}
      {text !== undefined && <RemedyHint column={text} />}
    </li>
  );
}
