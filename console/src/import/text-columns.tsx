import { Fragment, type ReactElement } from 'react';
import type { Remedy, TextColumn } from '../../../clients/file-import/text-columns.ts';
import { showCount, showNumber } from '../ui/format.ts';

interface TextColumnsProps {
  readonly columns: readonly TextColumn[];
  /** Null: nothing can be done about it any more. */
  readonly onRemedy: ((form: Remedy['form']) => void) | null;
}

const names: Readonly<Record<TextColumn['almost'], readonly [one: string, many: string]>> = {
  number: ['a number', 'numbers'], boolean: ['true or false', 'true or false'], date: ['a date', 'dates'], dateTime: ['a date with a time', 'dates with times'],
};

/** Columns that are text because of some cells, the first of these, and what would help. */
export function TextColumns({ columns, onRemedy }: TextColumnsProps): ReactElement | null {
  if (columns.length === 0) return null;
  return (
    <ul className="text-columns" aria-label="Columns that are text because of some cells">
      {columns.map((column) => (
        <li key={column.id}>
          <b>{column.id}</b> is text: {showNumber(column.misfits)} of {showCount(column.cells, 'cell')} {column.misfits === 1 ? 'is' : 'are'} not {names[column.almost][column.misfits === 1 ? 0 : 1]}:{' '}
          {column.first.map(({ text, line }, at) => <Fragment key={line}>{at > 0 && ', '}<q>{text}</q> in line {showNumber(line)}</Fragment>)}{column.misfits > column.first.length && ' and others'}.{' '}
          {onRemedy !== null && column.remedies.map((remedy) => <button key={textOf(remedy)} type="button" onClick={() => onRemedy(remedy.form)}>{textOf(remedy)}</button>)}
          {onRemedy === null && column.remedies.length > 0 && <>To change that, import the file again and choose <q>{textOf(column.remedies[0]!)}</q>.</>}
        </li>
      ))}
    </ul>
  );
}

/** `Read 1.234,50 as 1234.5, and NA as empty`. */
function textOf({ form, example }: Remedy): string {
  const parts = [...(example === null ? [] : [`${example.text} as ${example.becomes}`]), ...(form.null === undefined ? [] : [`${form.null.join(', ')} as empty`])];
  return `Read ${parts.join(', and ')}`;
}
