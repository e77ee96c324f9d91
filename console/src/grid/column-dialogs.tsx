import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement, type ReactNode, type SubmitEvent } from 'react';
import type { ColumnMisfits, Table, TableDescription, Version } from '../../../clients/typescript/src/index.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { nameOfType, textOfType, titleOf, typeOfText } from '../tables/column-types.ts';
import { renameTable } from '../tables/guarded-table.ts';
import { TypeSelect } from '../tables/type-select.tsx';
import { describeError, isErrorOfType } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
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

/** A dialog whose form changes a column. It closes when that is done, or shows why the change failed. */
function TaskDialog({
  dialog: { onChanged, onClose },
  title,
  action,
  isDanger = false,
  isReady = true,
  change,
  children,
}: {
  readonly dialog: ColumnDialogProps;
  readonly title: string;
  /** The text of the button that sends the form. */
  readonly action: string;
  /** Whether values get lost. */
  readonly isDanger?: boolean;
  readonly isReady?: boolean;
  /** What the form does, with its fields. */
  readonly change: (fields: FormData) => Promise<unknown>;
  readonly children: ReactNode;
}): ReactElement {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  async function send(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      await change(new FormData(event.currentTarget));
      onChanged();
      onClose();
    } catch (error) {
      setProblem(describeError(error));
      setBusy(false);
    }
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        {children}
        <FormEnd problem={problem} action={action} isDanger={isDanger} isBusy={isBusy || !isReady} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function AddDialog(props: ColumnDialogProps): ReactElement {
  const { table } = props;
  const [type, setType] = useState<ColumnType>('string');
  const add = (fields: FormData): Promise<unknown> =>
    table.columns.add([{ id: fields.get('id') as string, type: typeOfText(type) }]);
  return (
    <TaskDialog dialog={props} title="Add a column" action="Add" change={add}>
      <label>
        Name <input name="id" required autoFocus maxLength={256} />
      </label>
      <label>
        Type <TypeSelect value={type} onChange={setType} />
      </label>
      <p>At first it is empty in all rows.</p>
    </TaskDialog>
  );
}

function RenameDialog(props: ColumnDialogProps): ReactElement {
  const {
    table,
    description,
    task: { column },
  } = props;
  const [seen] = useState(description);

  function rename(fields: FormData): Promise<unknown> {
    const title = (fields.get('title') as string).trim();
    const displayName = title === '' || title === column.id ? null : title;
    return renameTable(table, seen, { columns: [{ id: column.id, displayName }] });
  }

  return (
    <TaskDialog dialog={props} title={`Rename ${titleOf(column)}`} action="Rename" change={rename}>
      <label>
        Name <input name="title" autoFocus defaultValue={column.displayName} placeholder={column.id} maxLength={1024} />
      </label>
      <p>
        Programs still use its first name, <b>{column.id}</b>.
      </p>
    </TaskDialog>
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
  } = props;
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

  async function change(): Promise<void> {
    const { version } = trial.data!;
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
  }

  return (
    <TaskDialog
      dialog={props}
      title={`Change the type of ${titleOf(column)}`}
      action={
        misfits === null ? `Change to ${nameOfType(type)}` : `Change and empty ${showCount(misfits.cells, 'cell')}`
      }
      isDanger={misfits !== null}
      isReady={type !== before && trial.data !== undefined && !trial.isFetching}
      change={change}
    >
      <label>
        Type <TypeSelect value={type} onChange={setType} />
      </label>
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
    </TaskDialog>
  );
}

function describeLoss({ cells, value }: ColumnMisfits, type: ColumnType): string {
  const name = nameOfType(type);
  return cells === 1
    ? `1 value does not fit ${name}: ${value}. It will be lost for everybody. Changing the type back does not restore it.`
    : `${showNumber(cells)} values do not fit ${name}, such as ${value}. They will be lost for everybody. Changing the type back does not restore them.`;
}

function RemoveDialog(props: ColumnDialogProps): ReactElement {
  const {
    table,
    task: { column },
  } = props;
  const title = titleOf(column);
  const count = useQuery({
    queryKey: ['values', table.id, column.id],
    queryFn: () => table.count({ column: column.id, op: 'isNotEmpty' }),
    gcTime: 0,
    staleTime: 0,
  });
  return (
    <TaskDialog
      dialog={props}
      title={`Remove the column ${title}?`}
      action={`Remove ${title}`}
      isDanger
      isReady={!count.isPending}
      change={() => table.columns.remove([column.id])}
    >
      <p aria-live="polite">
        {count.isError
          ? describeError(count.error)
          : count.data === undefined
            ? 'Counting its values …'
            : describeValues(count.data)}
      </p>
    </TaskDialog>
  );
}

function describeValues(count: number): string {
  if (count === 0) return 'It has no values.';
  const them = count === 1 ? 'it' : 'them';
  return `Its ${showCount(count, 'value')} will be lost for everybody. Adding the column again does not restore ${them}.`;
}
