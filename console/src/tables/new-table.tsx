import { useState, type ReactElement, type SubmitEvent } from 'react';
import type { NewColumn } from '../../../clients/typescript/src/index.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
import { typeOfText } from './column-types.ts';
import { TypeSelect } from './type-select.tsx';

interface Draft {
  readonly key: number;
  readonly id: string;
  readonly type: ColumnType;
}

/** Creates an empty table with columns. (Tables with rows come from files.) */
export function NewTable({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (id: string) => void;
}): ReactElement {
  const { tablog } = useSession();
  const [columns, setColumns] = useState<readonly Draft[]>([{ key: 0, id: 'name', type: 'string' }]);
  const [problem, setProblem] = useState<string | null>(null);
  const change = (key: number, changes: Partial<Draft>): void =>
    setColumns(columns.map((column) => (column.key === key ? { ...column, ...changes } : column)));

  async function create(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get('name') as string;
    try {
      const { table } = await tablog.createTable({
        name,
        columns: columns.map(({ id, type }): NewColumn => ({ id, type: typeOfText(type) })),
      });
      onCreated(table.id);
    } catch (error) {
      setProblem(describeError(error));
    }
  }

  return (
    <Dialog title="New table" onClose={onClose}>
      <form onSubmit={(event) => void create(event)}>
        <p>
          To start from a file, close this dialog, then drop the file on the page or use <b>Import a file</b>.
        </p>
        <label>
          Name <input name="name" required autoFocus maxLength={1024} />
        </label>
        <fieldset>
          <legend>Columns</legend>
          {columns.map(({ key, id, type }, index) => (
            <div className="line" key={key}>
              <input
                aria-label={`Name of column ${index + 1}`}
                required
                value={id}
                onChange={(event) => change(key, { id: event.target.value })}
              />
              <TypeSelect
                label={`Type of column ${index + 1}`}
                value={type}
                onChange={(chosen) => change(key, { type: chosen })}
              />
              <button
                type="button"
                className="quiet"
                aria-label={`Remove column ${index + 1}`}
                disabled={columns.length === 1}
                onClick={() => setColumns(columns.filter((column) => column.key !== key))}
              >
                ✕
              </button>
            </div>
          ))}
          <button
            type="button"
            onClick={() => setColumns([...columns, { key: columns.at(-1)!.key + 1, id: '', type: 'string' }])}
          >
            Add a column
          </button>
        </fieldset>
        <FormEnd problem={problem} action="Create" onCancel={onClose} />
      </form>
    </Dialog>
  );
}
