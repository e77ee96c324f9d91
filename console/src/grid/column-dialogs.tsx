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

/** Does what somebody has chosen in the menu of a column. */
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

/** What is wrong, and the buttons of a dialog. */
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

/** Does the work of a dialog and closes it, or says what is wrong. */
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
        <p>It is empty in all rows at first.</p>
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
          Programs go on using its first name, <b>{column.id}</b>.
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

/** What a change of type would do, as of a version of the table. */
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
        // Nothing is emptied but what was shown.
        await table.columns.changeType(column.id, typeOfText(type), {
          onMisfit: misfits === null ? 'abort' : 'clear',
          ...(misfits === null ? {} : { ifMatch: version }),
        });
      } catch (error) {
        if (!isErrorOfType(error, 'precondition_failed', 'column_has_invalid_value')) throw error;
        await trial.refetch();
        throw new Error('Somebody else has changed the table meanwhile. Look at it again: nothing was changed yet.', {
          cause: error,
        });
      }
    });
  }

  return (
    <Dialog title={`Change the type of ${titleOf(column)}`} onClose={onClose}>
      <form onSubmit={change}>
        <TypeSelect value={type} onChange={setType} />
        <p aria-live="polite">
          {type === before
            ? `It is ${nameOfType(before)} now.`
            : trial.isFetching
              ? 'Looking at the values …'
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
              : `Change, and empty ${showCount(misfits.cells, 'cell')}`}
          </button>
        </Footer>
      </form>
    </Dialog>
  );
}

function describeLoss({ cells, value }: ColumnMisfits, type: string): string {
  const what = cells === 1 ? '1 value does' : `${showNumber(cells)} values do`;
  return `${what} not fit ${nameOfType(type)}, such as ${value}. They would be gone for everybody.`;
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
            : `It has ${showCount(count.data, 'value')}.`}{' '}
        They would be gone for everybody, and cannot be brought back.
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
