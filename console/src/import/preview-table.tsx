import type { ReactElement } from 'react';
import type { Preview, PreviewedColumn } from '../../../clients/file-import/preview.ts';
import type { DelimitedForm } from '../../../src/language/formats/delimited-form.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { columnTypes, nameOfType, textOfType, titleOf, type Column } from '../tables/column-types.ts';
import { showNumber } from '../ui/format.ts';
import type { Targets } from './column-targets.ts';
import { TextColumns } from './text-columns.tsx';

interface PreviewTableProps {
  readonly preview: Preview;
  /** Whether the preview belongs to earlier choices. The new one is being read, or cannot be read. */
  readonly isStale: boolean;
  /** The chosen types of columns; null if the rows make no new table, or if the file names its types itself. */
  readonly types: {
    readonly chosen: Readonly<Record<string, ColumnType>>;
    readonly onChoose: (id: string, type: ColumnType | null) => void;
  } | null;
  /** The targets of the columns; null for a new table. Only columns that the file names can go elsewhere. */
  readonly targets: {
    readonly columns: readonly Column[];
    readonly isNamed: (id: string) => boolean;
    readonly ofFile: Targets;
    readonly onChoose: (name: string, id: string) => void;
  } | null;
  /** Whether the rows make a new table. */
  readonly isNew: boolean;
  readonly onRemedy: (form: Pick<DelimitedForm, 'null' | 'decimal' | 'dateFormat'>) => void;
}

/** The first rows of a file, and its columns with the types that they would have in a new table. */
export function PreviewTable({
  preview: { columns, rows, rowsRead, isWhole, notes, texts },
  isStale,
  types,
  targets,
  isNew,
  onRemedy,
}: PreviewTableProps): ReactElement {
  // If the target is a column of text, nothing is wrong.
  const shownTexts = texts.filter(
    ({ id }) =>
      targets === null ||
      targets.columns.some(
        (column) => column.id === (targets.ofFile[id] ?? id) && textOfType(column.type) !== 'string',
      ),
  );
  if (columns.length === 0) return <p>The file has no rows.</p>;
  return (
    <>
      <div
        className={isStale ? 'scroller preview stale' : 'scroller preview'}
        role="region"
        aria-label="First rows"
        aria-busy={isStale}
        tabIndex={0}
      >
        <table className="list">
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.id}
                  scope="col"
                  aria-label={`${column.id} ${column.type}`}
                  className={column.type === 'number' ? 'number' : undefined}
                >
                  {column.id}
                  <br />
                  {types === null ? (
                    <small>{column.type}</small>
                  ) : (
                    <TypeMenu column={column} chosen={types.chosen[column.id]} onChoose={types.onChoose} />
                  )}
                  {targets?.isNamed(column.id) && <TargetMenu name={column.id} {...targets} />}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, at) => (
              <tr key={at}>
                {row.map((text, column) => (
                  <td key={columns[column]!.id} className={columns[column]!.type === 'number' ? 'number' : undefined}>
                    {text}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!isStale && <TextColumns columns={shownTexts} onRemedy={onRemedy} />}
      {notes.map((note) => (
        <p key={note} className="faint">
          {note}.
        </p>
      ))}
      {isNew && !isWhole && (
        <p className="faint">
          Types are guessed from the first {showNumber(rowsRead)} rows. A later value that does not fit turns the column
          into text.
        </p>
      )}
      {!isNew && (
        <p className="faint">
          These are the types of the file. The table keeps its own types, unless you choose above to give its columns
          wider types.
        </p>
      )}
    </>
  );
}

function TypeMenu({
  column: { id, type },
  chosen,
  onChoose,
}: {
  readonly column: PreviewedColumn;
  readonly chosen: ColumnType | undefined;
  readonly onChoose: (id: string, type: ColumnType | null) => void;
}): ReactElement {
  return (
    <select
      className="small"
      aria-label={`Type of ${id}`}
      value={chosen ?? ''}
      onChange={({ target }) => onChoose(id, (target.value || null) as ColumnType | null)}
    >
      <option value="">{chosen === undefined ? nameOfType(type) : 'as found'}</option>
      {columnTypes.map((each) => (
        <option key={each} value={each}>
          {nameOfType(each)}
        </option>
      ))}
    </select>
  );
}

/** A menu of the target columns for a column of the file. */
function TargetMenu({
  name,
  columns,
  ofFile,
  onChoose,
}: { readonly name: string } & NonNullable<PreviewTableProps['targets']>): ReactElement {
  return (
    <label className="target">
      <small>goes into</small>
      <select
        className="small"
        aria-label={`Column of the table for ${name}`}
        value={ofFile[name] ?? name}
        onChange={({ target }) => onChoose(name, target.value)}
      >
        {!columns.some(({ id }) => id === name) && <option value={name}>a new column</option>}
        {columns.map((column) => (
          <option key={column.id} value={column.id}>
            {titleOf(column)}
          </option>
        ))}
      </select>
    </label>
  );
}
