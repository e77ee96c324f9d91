import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement, type SubmitEvent } from 'react';
import type { ExpectedColumn } from '../../../clients/file-import/widened-columns.ts';
import type { Format } from '../../../clients/file-import/file-format.ts';
import type { ImportTarget, OnSchemaError, TableDescription, Version } from '../../../clients/typescript/src/index.ts';
import type { DelimitedForm } from '../../../src/language/formats/delimited-form.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { useSession } from '../session/service.ts';
import { textOfType } from '../tables/column-types.ts';
import { describeError } from '../ui/describe-error.ts';
import { showBytes, showCount } from '../ui/format.ts';
import { Problem } from '../ui/problem.tsx';
import type { Failure, ImportRequest } from './messages.ts';
import { PreviewTable } from './preview-table.tsx';
import { columnsOfTargets, problemOfTargets, targetsOf, type Targets } from './column-targets.ts';
import { MainFormControls, MoreFormControls } from './form-controls.tsx';
import { formOfDraft, plainDraft, withForm, type FormDraft } from './form-draft.ts';
import { encodings, formatTitles, guessFormat, tableNameOf } from './reading-choices.ts';
import { usePreview } from './use-preview.ts';

/** The person's choices: how to read the file, and the table with its name. */
export interface Wanted extends Omit<ImportRequest, 'file' | 'url' | 'token'> {
  readonly name: string;
}

interface ImportFormProps {
  readonly file: File;
  /** The table on the screen; null if there is none. */
  readonly tableID: string | null;
  /** Why the last attempt failed. */
  readonly failure: Failure | null;
  readonly onImport: (wanted: Wanted) => void;
  readonly onClose: () => void;
}

type TargetKind = ImportTarget['kind'];

/** Asks where the rows go and how to read the file, and shows the first rows. */
export function ImportForm({ file, tableID, failure, onImport, onClose }: ImportFormProps): ReactElement {
  const { tablog } = useSession();
  const tables = useQuery({ queryKey: ['tables'], queryFn: () => tablog.tables().toArray() });
  const [kind, setKind] = useState<TargetKind>(tableID === null ? 'create' : 'add');
  const [name, setName] = useState(() => tableNameOf(file.name));
  const [chosen, setChosen] = useState(tableID ?? '');
  const [format, setFormat] = useState(() => guessFormat(file.name));
  const [draft, setDraft] = useState(plainDraft);
  const [sheet, setSheet] = useState('');
  const [chosenTargets, setChosenTargets] = useState<Targets>({});
  const [encoding, setEncoding] = useState<string>(encodings[0][0]);
  const [onSchemaError, setOnSchemaError] = useState<OnSchemaError>('abort');
  const isDelimited = format === 'csv' || format === 'tsv';
  const said = isDelimited
    ? readDraft(kind === 'create' ? draft : { ...draft, types: {} }, format === 'tsv' ? '\t' : ',')
    : { form: {}, problem: null };
  const reading = {
    format,
    form: said.form,
    sheet: format === 'xlsx' && sheet !== '' ? sheet : undefined,
    encoding,
    onSchemaError: kind === 'create' ? ('abort' as const) : onSchemaError,
  };
  const preview = usePreview(file, said.problem === null ? reading : null);
  const target = useTarget(kind === 'create' ? '' : chosen);
  /** The target table of the last attempt. */
  const [tried, setTried] = useState<string | null>(null);
  const isConflict = kind === 'overwrite' && failure?.isConflict === true && tried === chosen;
  const problem = preview.failure ?? (failure?.isConflict === true && !isConflict ? null : failure);
  const columnsOfTable = kind === 'create' || !isDelimited ? [] : (target.data?.schema.columns ?? []);
  const targets = targetsOf(
    preview.data?.columns.map(({ id }) => id) ?? [],
    columnsOfTable,
    columnsOfTable.length === 0 ? {} : chosenTargets,
  );
  const problemOfForm = said.problem ?? problemOfTargets(targets, columnsOfTable);
  const isReady =
    preview.data !== null &&
    !preview.isStale &&
    problemOfForm === null &&
    (kind === 'create' || target.data !== undefined);
  const isNamed = (id: string): boolean =>
    preview.data?.notes.includes(`${id}: had no name`) === false && !(draft.renamesDuplicates && /_\d+$/.test(id));
  const change = (changes: Partial<FormDraft>): void => setDraft((before) => ({ ...before, ...changes }));

  function submit(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    if (!isReady) return;
    const columns = preview.data!.columns.map(({ id, type }): ExpectedColumn => ({
      id: targets[id] ?? id,
      type,
      isOfTable: false,
    }));
    if (kind === 'create') onImport({ ...reading, name, target: { kind, name }, expected: columns });
    if (kind === 'create' || target.data === undefined) return;
    const seen = target.data;
    setTried(seen.id);
    // If others write all the time, the second click replaces whatever is there.
    const ifMatch = kind === 'overwrite' && !isConflict ? (`"${seen.version}"` as Version) : undefined;
    const form = {
      ...said.form,
      ...(columnsOfTargets(targets) !== undefined && { columns: columnsOfTargets(targets)! }),
    };
    onImport({
      ...reading,
      form,
      name: seen.name,
      target: { kind, tableID: seen.id, ifMatch },
      expected: onSchemaError === 'updateSchema' ? expectedOf(seen, columns) : [],
    });
  }

  return (
    <form onSubmit={submit}>
      <div className="choices">
        <label>
          What to do with the rows
          <select value={kind} onChange={(event) => setKind(event.target.value as TargetKind)}>
            <option value="create">Make a new table</option>
            <option value="add">Add to an existing table</option>
            <option value="overwrite">Replace all rows of a table</option>
          </select>
        </label>
        {kind === 'create' ? (
          <label>
            Name of the table{' '}
            <input required autoFocus maxLength={1024} value={name} onChange={(event) => setName(event.target.value)} />
          </label>
        ) : (
          <label>
            Table
            <select required value={chosen} onChange={(event) => setChosen(event.target.value)}>
              <option value="">Choose a table</option>
              {tables.data?.toReversed().map((table) => (
                <option key={table.id} value={table.id}>
                  {table.name || table.id}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          Format
          <select value={format} onChange={(event) => setFormat(event.target.value as Format)}>
            {formatTitles.map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {format === 'xlsx' && (preview.data?.sheets.length ?? 0) > 1 && (
          <label>
            Sheet
            <select value={sheet} onChange={(event) => setSheet(event.target.value)}>
              <option value="">the first one</option>
              {preview.data!.sheets.map(({ name, isHidden }) => (
                <option key={name} value={name}>
                  {isHidden ? `${name} (hidden)` : name}
                </option>
              ))}
            </select>
          </label>
        )}
        {isDelimited && (
          <MainFormControls draft={draft} onChange={change} recognised={preview.data?.delimiter ?? null} />
        )}
        {format !== 'xlsx' && (
          <label>
            Encoding
            <select value={encoding} onChange={(event) => setEncoding(event.target.value)}>
              {encodings.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        {kind !== 'create' && (
          <label>
            Values that do not fit
            <select value={onSchemaError} onChange={(event) => setOnSchemaError(event.target.value as OnSchemaError)}>
              <option value="abort">refuse the file</option>
              <option value="updateSchema">give their columns wider types</option>
              <option value="dropColumns">leave the values out</option>
            </select>
          </label>
        )}
      </div>
      {isDelimited && <MoreFormControls draft={draft} onChange={change} />}
      {problemOfForm !== null && <Problem>{problemOfForm}</Problem>}
      {problem !== null && (
        <Problem>
          {problem.line === null ? '' : `Line ${problem.line}: `}
          {problem.text}
        </Problem>
      )}
      {target.error !== null && <Problem>{describeError(target.error)}</Problem>}
      {kind === 'overwrite' && target.data !== undefined && <p>{replacedBy(target.data)}</p>}
      {preview.data === null ? (
        preview.failure === null && (
          <p className="waiting" role="status">
            Reading the first rows …
          </p>
        )
      ) : (
        <PreviewTable
          preview={preview.data}
          isStale={preview.isStale}
          isNew={kind === 'create'}
          types={
            kind === 'create' && isDelimited
              ? { chosen: draft.types, onChoose: (id, type) => change({ types: withType(draft.types, id, type) }) }
              : null
          }
          targets={
            columnsOfTable.length === 0
              ? null
              : {
                  columns: columnsOfTable,
                  isNamed,
                  ofFile: targets,
                  onChoose: (column, id) => setChosenTargets({ ...chosenTargets, [column]: id }),
                }
          }
          onRemedy={(form) => setDraft(withForm(draft, form))}
        />
      )}
      <footer>
        <span className="size">
          {showBytes(file.size)}
          {preview.data?.isWhole && `, ${showCount(preview.data.rowsRead, 'row')}`}
        </span>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button className="primary" disabled={!isReady}>
          {isConflict ? 'Replace them as they are now' : 'Import'}
        </button>
      </footer>
    </form>
  );
}

/** The form from the controls, or the control with an invalid text. */
function readDraft(
  draft: FormDraft,
  usual: ',' | '\t',
): { readonly form: DelimitedForm; readonly problem: string | null } {
  try {
    return { form: formOfDraft(draft, usual), problem: null };
  } catch (error) {
    return { form: {}, problem: describeError(error) };
  }
}

/** The types with another one for this column; null: the type is inferred. */
function withType(types: FormDraft['types'], id: string, type: ColumnType | null): FormDraft['types'] {
  const others = Object.entries(types).filter(([each]) => each !== id);
  return Object.fromEntries(type === null ? others : [...others, [id, type]]);
}

/** A table as it was when the person chose it. Nothing for the empty ID. */
function useTarget(id: string): { readonly data: TableDescription | undefined; readonly error: Error | null } {
  const { tablog } = useSession();
  const { data, error } = useQuery({
    queryKey: ['import target', id],
    queryFn: () => tablog.table(id).describe(),
    enabled: id !== '',
    gcTime: 0,
    staleTime: Infinity,
    // No refetch: a description that changed unseen would let the person replace rows unknowingly.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return { data, error };
}

function replacedBy({ name, id, rows }: TableDescription): string {
  if (rows === 0) return `${name || id} has no rows yet.`;
  return `${rows === 1 ? 'The only row' : `All ${showCount(rows, 'row')}`} of ${name || id} will be replaced.`;
}

/**
 * The columns of the table after an import whose values all fit: the existing ones as they are, and new ones as in the
 * preview.
 */
function expectedOf({ schema }: TableDescription, ofFile: readonly ExpectedColumn[]): ExpectedColumn[] {
  const known = schema.columns.map(({ id, type }): ExpectedColumn => ({
    id,
    type: textOfType(type),
    isOfTable: true,
  }));
  return [...known, ...ofFile.filter(({ id }) => !known.some((column) => column.id === id))];
}
