import type { ReactElement } from 'react';
import type { Preview } from '../../../clients/file-import/preview.ts';
import { showNumber } from '../ui/format.ts';

interface PreviewTableProps {
  readonly preview: Preview;
  /** Whether the rows make a new table. */
  readonly isNew: boolean;
}

/** The first rows of a file, and its columns with the types that they would have in a new table. */
export function PreviewTable({ preview: { columns, rows, rowsRead, isWhole, notes }, isNew }: PreviewTableProps): ReactElement {
  if (columns.length === 0) return <p>The file has no rows.</p>;
  return (
    <>
      <div className="scroller preview" role="region" aria-label="First rows" tabIndex={0}>
        <table className="list">
          <thead><tr>{columns.map(({ id, type }) => <th key={id} scope="col" className={type === 'number' ? 'number' : undefined}>{id}<br /><small>{type}</small></th>)}</tr></thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>{row.map((text, column) => <td key={columns[column]!.id} className={columns[column]!.type === 'number' ? 'number' : undefined}>{text}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {notes.map((note) => <p key={note} className="faint">{note}.</p>)}
      {isNew && !isWhole && <p className="faint">Types are guessed from the first {showNumber(rowsRead)} rows. A later value that does not fit turns the column into text.</p>}
      {!isNew && <p className="faint">These are the types of the file. The table keeps its own types, unless you choose above that its columns get wider ones.</p>}
    </>
  );
}
