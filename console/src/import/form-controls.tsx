import { useId, useState, type ChangeEvent, type ReactElement, type ReactNode } from 'react';
import type { Delimiter } from '../../../src/language/formats/delimited-records.ts';
import { countFurther, dateFormatTitles, type FormDraft } from './form-draft.ts';
import { delimiterTitles } from './reading-choices.ts';

interface FormControlsProps {
  readonly draft: FormDraft;
  readonly onChange: (changes: Partial<FormDraft>) => void;
  /** The detected separator; null while it is unknown. */
  readonly recognised: string | null;
}

/** Controls for the form of a CSV or TSV file: those that most people need. */
export function MainFormControls({ draft, onChange, recognised }: FormControlsProps): ReactElement {
  const isListed = draft.delimiter === '' || delimiterTitles.some(([value]) => value === draft.delimiter);
  const [isOther, setOther] = useState(!isListed);

  function choose(value: string): void {
    setOther(value === 'other');
    onChange({ delimiter: value === 'other' ? '' : value });
  }

  return (
    <>
      <label>
        Separator
        <select value={isOther ? 'other' : draft.delimiter} onChange={({ target }) => choose(target.value)}>
          <option value="">{recognised === null ? 'detected' : `detected: ${titleOf(recognised)}`}</option>
          {delimiterTitles.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
          <option value="other">another character</option>
        </select>
      </label>
      {isOther && (
        <label>
          Separating character{' '}
          <input
            value={draft.delimiter}
            maxLength={2}
            size={2}
            onChange={({ target }) => onChange({ delimiter: target.value })}
          />
        </label>
      )}
      <Choice
        label="First line"
        value={draft.header}
        onChange={(header) => onChange({ header: header as FormDraft['header'] })}
      >
        <option value="present">names the columns</option>
        <option value="absent">is a row: there is no header</option>
      </Choice>
      <Choice
        label="Numbers"
        value={draft.decimal}
        onChange={(decimal) => onChange({ decimal: decimal as FormDraft['decimal'] })}
      >
        <option value="">1234.5</option>
        <option value=",">1.234,5 or 1234,5</option>
        <option value=".">1,234.5</option>
      </Choice>
    </>
  );
}

/** The further controls for the form of a file. */
export function MoreFormControls({ draft, onChange }: Omit<FormControlsProps, 'recognised'>): ReactElement {
  const set = countFurther(draft);
  return (
    <details className="more-options">
      <summary>More options{set > 0 && ` (${set} in use)`}</summary>
      <div className="choices">
        <Choice
          label="Dates"
          value={draft.dateFormat}
          onChange={(format) => onChange({ dateFormat: format as FormDraft['dateFormat'] })}
        >
          <option value="">2024-12-31</option>
          {dateFormatTitles.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </Choice>
        <Text
          label="Texts that mean empty"
          hint="NA, NULL, -"
          value={draft.nulls}
          onChange={(nulls) => onChange({ nulls })}
        />
        <Text
          label="Lines before the header"
          hint="0"
          value={draft.skipLines}
          onChange={(skipLines) => onChange({ skipLines })}
        />
        <Text
          label="Comments begin with"
          hint="#"
          value={draft.comment}
          onChange={(comment) => onChange({ comment })}
        />
        <Choice label="Quotes around cells" value={draft.quote} onChange={(quote) => onChange({ quote })}>
          <option value="">&quot;double&quot;</option>
          <option value="'">&apos;single&apos;</option>
          <option value="none">none: quotes are text</option>
        </Choice>
        <Choice label="A quote within quotes" value={draft.escape} onChange={(escape) => onChange({ escape })}>
          <option value="">is written twice</option>
          <option value="\">has a backslash before it</option>
        </Choice>
        <label className="choice">
          <input
            type="checkbox"
            checked={draft.isLenient}
            onChange={({ target }) => onChange({ isLenient: target.checked })}
          />{' '}
          A quote inside a cell is text, as in 6&quot;
        </label>
        <label className="choice">
          <input
            type="checkbox"
            checked={draft.renamesDuplicates}
            onChange={({ target }) => onChange({ renamesDuplicates: target.checked })}
          />{' '}
          Rename columns with the same name
        </label>
      </div>
    </details>
  );
}

function titleOf(delimiter: string): string {
  return delimiterTitles.find(([value]) => value === (delimiter as Delimiter))?.[1] ?? delimiter;
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly children: ReactNode;
}): ReactElement {
  const id = useId();
  return (
    <label htmlFor={id}>
      {label}
      <select id={id} value={value} onChange={({ target }: ChangeEvent<HTMLSelectElement>) => onChange(target.value)}>
        {children}
      </select>
    </label>
  );
}

function Text({
  label,
  hint,
  value,
  onChange,
}: {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  return (
    <label>
      {label} <input value={value} placeholder={hint} onChange={({ target }) => onChange(target.value)} />
    </label>
  );
}
