import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import type { Format } from '../../../clients/file-import/file-format.ts';
import type { ImportTarget, OnSchemaError } from '../../../clients/typescript/src/index.ts';
import type { Delimiter } from '../../../src/formats/delimited-records.ts';
import { useSession } from '../session/service.ts';
import { showBytes, showCount } from '../ui/format.ts';
import type { Failure, Reading } from './messages.ts';
import { PreviewTable } from './preview-table.tsx';
import { encodings, formatTitles, guessFormat, delimiterTitles, tableNameOf } from './reading-choices.ts';
import { usePreview } from './use-preview.ts';

/** What is asked for: how the file is read, and the table with its name. */
export interface Wanted extends Omit<Reading, 'file'> {
  readonly target: ImportTarget;
  readonly name: string;
}

interface ImportFormProps {
  readonly file: File;
  /** The table that is shown; null if none is. */
  readonly tableID: string | null;
  /** Why the last attempt has failed. */
  readonly failure: Failure | null;
  readonly onImport: (wanted: Wanted) => void;
  readonly onClose: () => void;
}

type TargetKind = ImportTarget['kind'];

/** Asks where the rows of a file go and how it is read, and shows its first rows. */
export function ImportForm({ file, tableID, failure, onImport, onClose }: ImportFormProps): ReactElement {
  const { tablog } = useSession();
  const tables = useQuery({ queryKey: ['tables'], queryFn: () => tablog.tables().toArray() });
  const [kind, setKind] = useState<TargetKind>(tableID === null ? 'create' : 'add');
  const [name, setName] = useState(() => tableNameOf(file.name));
  const [chosen, setChosen] = useState(tableID ?? '');
  const [format, setFormat] = useState(() => guessFormat(file.name));
  const [delimiter, setDelimiter] = useState<Delimiter | null>(null);
  const [encoding, setEncoding] = useState<string>(encodings[0][0]);
  const [onSchemaError, setOnSchemaError] = useState<OnSchemaError>('abort');
  const reading = { format, delimiter: format === 'csv' || format === 'tsv' ? delimiter : null, encoding, onSchemaError: kind === 'create' ? 'abort' as const : onSchemaError };
  const preview = usePreview(file, reading);
  const problem = preview.failure ?? failure;
  const isDelimited = format === 'csv' || format === 'tsv';

  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const table = tables.data?.find(({ id }) => id === chosen);
    if (kind === 'create') onImport({ ...reading, name, target: { kind, name } });
    else if (table !== undefined) onImport({ ...reading, name: table.name, target: { kind, tableID: table.id } });
  }

  return (
    <form onSubmit={submit}>
      <div className="choices">
        <label>Rows go
          <select value={kind} onChange={(event) => setKind(event.target.value as TargetKind)}>
            <option value="create">into a new table</option>
            <option value="add">to those of a table</option>
            <option value="overwrite">in the place of all of a table</option>
          </select>
        </label>
        {kind === 'create'
          ? <label>Name of the table <input required autoFocus maxLength={1024} value={name} onChange={(event) => setName(event.target.value)} /></label>
          : (
            <label>Table
              <select required value={chosen} onChange={(event) => setChosen(event.target.value)}>
                <option value="">Choose a table</option>
                {tables.data?.toReversed().map((table) => <option key={table.id} value={table.id}>{table.name || table.id}</option>)}
              </select>
            </label>
          )}
        <label>Format
          <select value={format} onChange={(event) => setFormat(event.target.value as Format)}>{formatTitles.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select>
        </label>
        {isDelimited && (
          <label>Between the cells
            <select value={delimiter ?? ''} onChange={(event) => setDelimiter((event.target.value || null) as Delimiter | null)}>
              <option value="">{preview.data?.delimiter ? `as recognised: ${titleOf(preview.data.delimiter)}` : 'as recognised'}</option>
              {delimiterTitles.map(([value, title]) => <option key={value} value={value}>{title}</option>)}
            </select>
          </label>
        )}
        <label>Encoding
          <select value={encoding} onChange={(event) => setEncoding(event.target.value)}>{encodings.map(([value, title]) => <option key={value} value={value}>{title}</option>)}</select>
        </label>
        {kind !== 'create' && (
          <label>Values that do not fit
            <select value={onSchemaError} onChange={(event) => setOnSchemaError(event.target.value as OnSchemaError)}>
              <option value="abort">refuse the file</option>
              <option value="updateSchema">give their columns wider types</option>
              <option value="dropColumns">are left out</option>
            </select>
          </label>
        )}
      </div>
      {problem !== null && <p className="problem" role="alert">{problem.line === null ? '' : `Line ${problem.line}: `}{problem.text}</p>}
      {preview.data === null ? preview.failure === null && <p className="waiting" role="status">Reading the first rows …</p> : <PreviewTable preview={preview.data} isNew={kind === 'create'} />}
      <footer>
        <span className="size">{showBytes(file.size)}{preview.data?.isWhole && `, ${showCount(preview.data.rowsRead, 'row')}`}</span>
        <button type="button" onClick={onClose}>Cancel</button>
        <button className="primary" disabled={preview.data === null || (kind !== 'create' && chosen === '')}>Import</button>
      </footer>
    </form>
  );
}

function titleOf(delimiter: Delimiter): string {
  return delimiterTitles.find(([value]) => value === delimiter)![1];
}
