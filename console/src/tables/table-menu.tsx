import { useId, useState, type ReactElement, type SubmitEvent } from 'react';
import type { ExportFormat, RowsQuery, Table, TableDescription } from '../../../clients/typescript/src/index.ts';
import type { View } from '../grid/rows-reader.ts';
import { describeError } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
import { showCount } from '../ui/format.ts';
import { List } from '../ui/list.tsx';
import { Problem } from '../ui/problem.tsx';
import { textOfType } from './column-types.ts';
import { dropTable, renameTable } from './guarded-table.ts';
import { saveExport } from './save-export.ts';

interface TableMenuProps {
  readonly table: Table;
  readonly description: TableDescription;
  /** The filters and sorts of the grid. */
  readonly view: View;
  /** How many rows the view has; null while it is unknown. */
  readonly viewRows: number | null;
  readonly canWrite: boolean;
  readonly onDropped: () => void;
  readonly onChanged: () => void;
}

type Open = 'export' | 'columns' | 'drop' | null;

/** The menu of a table: export, rename, delete. */
export function TableMenu(props: TableMenuProps): ReactElement {
  const [open, setOpen] = useState<Open>(null);
  const menu = useId();
  const close = (): void => setOpen(null);
  return (
    <>
      <button type="button" onClick={() => setOpen('export')}>
        Export
      </button>
      {props.canWrite && (
        <>
          <button type="button" popoverTarget={menu}>
            More
          </button>
          <div id={menu} popover="auto" className="menu">
            <button type="button" popoverTarget={menu} onClick={() => setOpen('columns')}>
              Rename table or columns
            </button>
            <button type="button" popoverTarget={menu} onClick={() => setOpen('drop')}>
              Delete table
            </button>
          </div>
        </>
      )}
      {open === 'export' && <ExportDialog {...props} onClose={close} />}
      {open === 'columns' && <NamesDialog {...props} onClose={close} />}
      {open === 'drop' && <DropDialog {...props} onClose={close} />}
    </>
  );
}

const formats: readonly (readonly [format: ExportFormat, name: string])[] = [
  ['csv', 'CSV'],
  ['tsv', 'TSV'],
  ['json', 'JSON'],
  ['ndjson', 'NDJSON'],
  ['parquet', 'Parquet'],
  ['xlsx', 'Excel workbook'],
];

function ExportDialog({
  table,
  description: { name, rows },
  view,
  viewRows,
  onClose,
}: TableMenuProps & { readonly onClose: () => void }): ReactElement {
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isView = view.filter !== undefined || view.sort !== undefined;
  const [wantsView, setWantsView] = useState(isView);
  const count = wantsView && view.filter !== undefined ? viewRows : rows;

  async function save(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const format = form.get('format') as ExportFormat;
    setBusy(true);
    try {
      await saveExport(table, `${name || table.id}.${format}`, format, (wantsView ? view : {}) as RowsQuery<object>);
      onClose();
    } catch (error) {
      setBusy(false);
      if ((error as Error).name !== 'AbortError') setProblem(describeError(error));
    }
  }

  return (
    <Dialog title={count === null ? 'Export' : `Export ${showCount(count, 'row')}`} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <label>
          Format{' '}
          <select name="format">
            {formats.map(([format, title]) => (
              <option key={format} value={format}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {isView && (
          <label className="choice">
            <input type="checkbox" checked={wantsView} onChange={(event) => setWantsView(event.target.checked)} /> As it
            is filtered and sorted here
          </label>
        )}
        <FormEnd problem={problem} action={isBusy ? 'Saving …' : 'Save'} isBusy={isBusy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function NamesDialog({
  table,
  description,
  onClose,
  onChanged,
}: TableMenuProps & { readonly onClose: () => void }): ReactElement {
  // Keep the names with which the fields began, whatever others write meanwhile.
  const [seen] = useState(description);
  const { name, schema } = seen;
  const [problem, setProblem] = useState<string | null>(null);

  async function rename(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const columns = schema.columns.flatMap(({ id, displayName = '' }, index) => {
      const title = (form.get(`column-${index}`) as string).trim();
      return title === displayName ? [] : [{ id, displayName: title === '' ? null : title }];
    });
    const newName = form.get('name') as string;
    try {
      await renameTable(table, seen, {
        ...(newName !== name && { name: newName }),
        ...(columns.length > 0 && { columns }),
      });
      onChanged();
      onClose();
    } catch (error) {
      setProblem(describeError(error));
    }
  }

  return (
    <Dialog title="Rename" onClose={onClose}>
      <form onSubmit={(event) => void rename(event)}>
        <label>
          Name of the table <input name="name" defaultValue={name} maxLength={1024} />
        </label>
        <List label="Columns" headings={['Column', { title: 'Type', className: 'wide' }, 'Shown as']}>
          {schema.columns.map(({ id, type, displayName }, index) => (
            <tr key={id}>
              <th scope="row">{id}</th>
              <td className="wide">{textOfType(type)}</td>
              <td>
                <input
                  name={`column-${index}`}
                  aria-label={`Name shown for ${id}`}
                  defaultValue={displayName}
                  placeholder={id}
                />
              </td>
            </tr>
          ))}
        </List>
        <p>To change the type of a column, use the menu in its header.</p>
        <FormEnd problem={problem} action="Save" onCancel={onClose} />
      </form>
    </Dialog>
  );
}

function DropDialog({
  table,
  description,
  onDropped,
  onClose,
}: TableMenuProps & { readonly onClose: () => void }): ReactElement {
  const [seen] = useState(description);
  /** The table as it is now, if others have changed it. */
  const [now, setNow] = useState<TableDescription | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  async function drop(): Promise<void> {
    try {
      // If others write all the time, the second click deletes whatever is there.
      const found = now === null ? await dropTable(table, seen) : await table.drop().then(() => null);
      if (found === null) onDropped();
      else setNow(found);
    } catch (error) {
      setProblem(describeError(error));
    }
  }

  return (
    <Dialog title={`Delete the table ${seen.name}?`} onClose={onClose}>
      {now !== null && (
        <Problem>
          The table was not deleted, because somebody else has changed it. It is now named {now.name} and has{' '}
          {showCount(now.schema.columns.length, 'column')}.
        </Problem>
      )}
      <p>It has {showCount((now ?? seen).rows, 'row')}. The table and its rows will be lost for everybody.</p>
      {problem !== null && <Problem>{problem}</Problem>}
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="danger" onClick={() => void drop()}>
          {now === null ? 'Delete' : 'Delete it as it is now'}
        </button>
      </footer>
    </Dialog>
  );
}
