import type { ReactElement } from 'react';
import { Link } from 'wouter';
import type { ImportResult } from '../../../clients/file-import/import-file.ts';
import { showCount, showDuration, showNumber } from '../ui/format.ts';

interface ImportSummaryProps {
  readonly result: ImportResult;
  /** Of the table. */
  readonly name: string;
  readonly ms: number;
  readonly onClose: () => void;
}

/** What has come of an import. */
export function ImportSummary({ result: { rows, tableID, shortLines, notes, droppedCells }, name, ms, onClose }: ImportSummaryProps): ReactElement {
  return (
    <div className="running">
      <p role="status">
        {showCount(rows, 'row')} imported into <Link href={`/tables/${tableID}`} onClick={onClose}>{name}</Link> in {showDuration(ms)} ({showNumber((rows * 1000) / Math.max(ms, 1))} rows/s).
      </p>
      {shortLines > 0 && <p>{showCount(shortLines, 'line has', 'lines have')} fewer cells than the header. The columns of the missing cells are empty.</p>}
      {notes.map((note) => <p key={note}>{note}.</p>)}
      {droppedCells > 0 && <p>{showCount(droppedCells, 'value')} did not fit and {droppedCells === 1 ? 'was' : 'were'} left out.</p>}
      <footer><Link className="button primary" href={`/tables/${tableID}`} onClick={onClose}>Show the table</Link><button type="button" onClick={onClose}>Close</button></footer>
    </div>
  );
}
