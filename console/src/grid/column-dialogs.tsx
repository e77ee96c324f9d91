import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement, type SubmitEvent } from 'react';
import type { ColumnMisfits, Table, TableDescription, Version } from '../../../clients/typescript/src/index.ts';
import { columnTypes, nameOfType, textOfType, titleOf, typeOfText } from '../tables/column-types.ts';
import { renameTable } from '../tables/guarded-table.ts';
import { describeError, isErrorOfType } from '../ui/describe-error.ts';
import { Dialog } from '../ui/dialog.tsx';
import { showCount, showNumber } from '../ui/format.ts';
import type { ColumnTask } from './column-menu.tsx';

interface ColumnDialogProps {
  readonly task: ColumnTask;
  readonly table: Table;
  readonly description: TableDescription;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

/** The dialog for the task that a person has chosen in the menu of a column. */
export function ColumnDialog(props: ColumnDialogProps): ReactElement {
  switch (props.task.kind) {
    case 'add':
      return <AddDialog {...props} />;
    case 'rename':
      return <RenameDialog {...props} />;
    case 'type':
      return <TypeDialog {...props} />;
    case 'remove':
      return <RemoveDialog {...props} />;
  }
}

/** The end of a dialog: the problem, if there is one, and the buttons. */
function Footer({
  problem,
  onClose,
  children,
}: {
  readonly problem: string | null;
  readonly onClose: () => void;
  readonly children: ReactElement;
}): ReactElement {
  return (
    <>
      {problem !== null && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        {children}
      </footer>
    </>
  );
}

/** Runs the change of a dialog. Closes the dialog, or shows why the change failed. */
function useWork({ onChanged, onClose }: ColumnDialogProps): {
  readonly problem: string | null;
  readonly isBusy: boolean;
  readonly work: (change: () => Promise<unknown>) => Promise<void>;
} {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  return {
    problem,
    isBusy,
    work: async (change) => {
      setBusy(true);
      try {
        await change();
        onChanged();
        onClose();
      } catch (error) {
        setProblem(describeError(error));
        setBusy(false);
      }
    },
  };
}

function TypeSelect({
  value,
  onChange,
}: {
  readonly value: string;
  readonly onChange: (type: string) => void;
}): ReactElement {
  return (
    <label>
      Type{' '}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {columnTypes.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}

function AddDialog(props: ColumnDialogProps): ReactElement {
  const { table, onClose } = props;
  const { problem, isBusy, work } = useWork(props);
  const [type, setType] = useState('string');

  function add(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const id = new FormData(event.currentTarget).get('id') as string;
    void work(() => table.columns.add([{ id, type: typeOfText(type) }]));
  }

  return (
    <Dialog title="Add a column" onClose={onClose}>
      <form onSubmit={add}>
        <label>
          Name <input name="id" required autoFocus maxLength={256} />
        </label>
        <TypeSelect value={type} onChange={setType} />
        <p>At first it is empty in all rows.</p>
        <Footer problem={problem} onClose={onClose}>
          <button className="primary" disabled={isBusy}>
            Add
          </button>
        </Footer>
      </form>
    </Dialog>
  );
}

function RenameDialog(props: ColumnDialogProps): ReactElement {
  const {
    table,
    description,
    task: { column },
    onClose,
  } = props;
  const { problem, isBusy, work } = useWork(props);
  const [seen] = useState(description);

  function rename(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const title = (new FormData(event.currentTarget).get('title') as string).trim();
    const displayName = title === '' || title === column.id ? null : title;
    void work(() => renameTable(table, seen, { columns: [{ id: column.id, displayName }] }));
  }

  return (
    <Dialog title={`Rename ${titleOf(column)}`} onClose={onClose}>
      <form onSubmit={rename}>
        <label>
          Name{' '}
          <input name="title" autoFocus defaultValue={column.displayName} placeholder={column.id} maxLength={1024} />
        </label>
        <p>
          Programs still use its first name, <b>{column.id}</b>.
        </p>
        <Footer problem={problem} onClose={onClose}>
          <button className="primary" disabled={isBusy}>
            Rename
          </button>
        </Footer>
      </form>
    </Dialog>
  );
}

/** The effect that a change of type would have at a version of the table. */
interface Trial {
  readonly version: Version;
  /** Null: all values fit. */
  readonly misfits: ColumnMisfits | null;
}

function TypeDialog(props: ColumnDialogProps): ReactElement {
  const {
    table,
    task: { column },
    onClose,
  } = props;
  const { problem, isBusy, work } = useWork(props);
  const before = textOfType(column.type);
  const [type, setType] = useState(before);
  const trial = useQuery({
    queryKey: ['try-type', table.id, column.id, type],
    queryFn: async ({ signal }): Promise<Trial> => {
      const { data, version } = await table.columns.tryType(column.id, typeOfText(type), { signal });
      return { version, misfits: data[0] ?? null };
    },
    enabled: type !== before,
    gcTime: 0,
    staleTime: 0,
  });
  const misfits = trial.data?.misfits ?? null;

  function change(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const { version } = trial.data!;
    void work(async () => {
      try {
        // With `ifMatch`, the change empties only the cells that the dialog has counted.
        await table.columns.changeType(column.id, typeOfText(type), {
          onMisfit: misfits === null ? 'abort' : 'clear',
          ...(misfits === null ? {} : { ifMatch: version }),
        });
      } catch (error) {
        if (!isErrorOfType(error, 'precondition_failed', 'column_has_invalid_value')) throw error;
        await trial.refetch();
        throw new Error(
          'Somebody else has changed the table meanwhile. Nothing was changed. Check the number of values again.',
          {
            cause: error,
          },
        );
      }
    });
  }

  return (
    <Dialog title={`Change the type of ${titleOf(column)}`} onClose={onClose}>
      <form onSubmit={change}>
        <TypeSelect value={type} onChange={setType} />
        <p aria-live="polite">
          {type === before
            ? `Its type is ${nameOfType(before)}.`
            : trial.isFetching
              ? 'Checking the values …'
              : trial.isError
                ? describeError(trial.error)
                : misfits === null
                  ? `All values fit ${nameOfType(type)}.`
                  : describeLoss(misfits, type)}
        </p>
        <Footer problem={problem} onClose={onClose}>
          <button
            className={misfits === null ? 'primary' : 'danger'}
            disabled={isBusy || type === before || trial.data === undefined || trial.isFetching}
          >
            {misfits === null
              ? `Change to ${nameOfType(type)}`
              : `Change and empty ${showCount(misfits.cells, 'cell')}`}
          </button>
        </Footer>
      </form>
    </Dialog>
  );
}

function describeLoss({ cells, value }: ColumnMisfits, type: string): string {
  const name = nameOfType(type);
  return cells === 1
    ? `1 value does not fit ${name}: ${value}. It would be gone for everybody.`
    : `${showNumber(cells)} values do not fit ${name}, such as ${value}. They would be gone for everybody.`;
}

function RemoveDialog(props: ColumnDialogProps): ReactElement {
  const {
    table,
    task: { column },
    onClose,
  } = props;
  const { problem, isBusy, work } = useWork(props);
  const title = titleOf(column);
  const count = useQuery({
    queryKey: ['values', table.id, column.id],
    queryFn: () => table.count({ column: column.id, op: 'isNotEmpty' }),
    gcTime: 0,
    staleTime: 0,
  });
  return (
    <Dialog title={`Remove the column ${title}?`} onClose={onClose}>
      <p aria-live="polite">
        {count.isError
          ? describeError(count.error)
          : count.data === undefined
            ? 'Counting its values …'
            : describeValues(count.data)}
      </p>
      <Footer problem={problem} onClose={onClose}>
        <button
          type="button"
          className="danger"
          disabled={isBusy || count.isPending}
          onClick={() => void work(() => table.columns.remove([column.id]))}
        >
          Remove {title}
        </button>
      </Footer>
    </Dialog>
  );
}

function describeValues(count: number): string {
  if (count === 0) return 'It has no values.';
  return `It has ${showCount(count, 'value')}. ${count === 1 ? 'It' : 'They'} would be gone for everybody. This cannot be undone.`;
}
