import type { ReactElement } from 'react';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { columnTypes } from './column-types.ts';

/** A menu of all column types. `label`: its name, if no element labels it. */
export function TypeSelect({
  label,
  value,
  onChange,
}: {
  readonly label?: string;
  readonly value: ColumnType;
  readonly onChange: (type: ColumnType) => void;
}): ReactElement {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value as ColumnType)}>
      {columnTypes.map((each) => (
        <option key={each}>{each}</option>
      ))}
    </select>
  );
}
