import { Fragment, type ReactElement } from 'react';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import { showCount, showNumber } from '../ui/format.ts';
import { remediesOf, type Remedy } from './remedies.ts';

interface TextColumnsProps {
  /** The columns. The places of their cells are lines of the file. */
  readonly columns: readonly TextColumn[];
  /** Called with the chosen remedy; null once the file is imported. */
  readonly onRemedy: ((form: Remedy['form']) => void) | null;
}

const names: Readonly<Record<TextColumn['kind'], readonly [one: string, many: string]>> = {
  number: ['a number', 'numbers'],
  boolean: ['true or false', 'true or false'],
  date: ['a date', 'dates'],
  dateTime: ['a date with a time', 'dates with times'],
};

/** Lists columns that are text because of some cells, with the first of these cells and the remedies. */
export function TextColumns({ columns, onRemedy }: TextColumnsProps): ReactElement | null {
  if (columns.length === 0) return null;
  return (
    <ul className="text-columns" aria-label="Columns that are text because of some cells">
      {columns.map((column) => (
        <TextColumnLine key={column.id} column={column} onRemedy={onRemedy} />
      ))}
    </ul>
  );
}

function TextColumnLine({
  column,
  onRemedy,
}: { readonly column: TextColumn } & Pick<TextColumnsProps, 'onRemedy'>): ReactElement {
  const { id, kind, filled, misfits, first } = column;
  const remedies = remediesOf(column);
  return (
    <li>
      <b>{id}</b> is text: {showNumber(misfits)} of {showCount(filled, 'cell')} {misfits === 1 ? 'is' : 'are'} not{' '}
      {names[kind][misfits === 1 ? 0 : 1]}: <CellList cells={first} />
      {misfits > first.length && ' and others'}.{' '}
      {onRemedy !== null &&
        remedies.map(({ label, form }) => (
          <button key={label} type="button" onClick={() => onRemedy(form)}>
            {label}
          </button>
        ))}
      {onRemedy === null && <RemedyHint column={column} />}
    </li>
  );
}

export function CellList({ cells }: { readonly cells: TextColumn['first'] }): ReactElement {
  return (
    <>
      {cells.map(({ text, place }, at) => (
        <Fragment key={place}>
          {at > 0 && ', '}
          <q>{text}</q> in line {showNumber(place)}
        </Fragment>
      ))}
    </>
  );
}

/** Says which choice would have given the column its other type, after the import. */
export function RemedyHint({ column }: { readonly column: TextColumn }): ReactElement | null {
  const [remedy] = remediesOf(column);
  return remedy === undefined || !remedy.isWhole ? null : (
    <>
      {' '}
      To change that, import the file again and choose <q>{remedy.label}</q>.
    </>
  );
}
