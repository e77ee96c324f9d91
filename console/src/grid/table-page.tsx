import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { Link, useLocation } from 'wouter';
import { useSession } from '../session/service.ts';
import { useCanWrite } from '../session/who.ts';
import { TableMenu } from '../tables/table-menu.tsx';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { describeError, isErrorOfType, isNotThere } from '../ui/describe-error.ts';
import { showCount, showNumber } from '../ui/format.ts';
import { Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useNotices } from '../ui/notices.tsx';
import type { SeenRow } from './guarded-rows.ts';
import { Grid, type GridHandle, type GridStatus } from './grid.tsx';

/** Interval between requests for the version of the table, in milliseconds. */
const askEveryMs = 2000;

/** The page of a table: its rows and its actions. */
export function TablePage({ tableID }: { readonly tableID: string }): ReactElement {
  const { tablog } = useSession();
  const [, goTo] = useLocation();
  const queries = useQueryClient();
  const notices = useNotices();
  const table = useMemo(() => tablog.table(tableID), [tablog, tableID]);
  const grid = useRef<GridHandle>(null);
  const [status, setStatus] = useState<GridStatus>({
    view: {},
    rows: null,
    step: null,
    selected: 0,
    isMissing: false,
    problem: null,
  });
  /** The rows to delete, as they were on the screen when the person chose to delete them. */
  const [deleting, setDeleting] = useState<readonly SeenRow[]>([]);
  const canWrite = useCanWrite();
  const version = useQuery({
    queryKey: ['version', tableID],
    queryFn: () => table.version(),
    refetchInterval: askEveryMs,
  });
  const description = useQuery({ queryKey: ['table', tableID], queryFn: () => table.describe(), staleTime: 0 });
  useTitle(description.data?.name ?? 'Table');
  const onStatus = useCallback(
    (changes: Partial<GridStatus>) => setStatus((before) => ({ ...before, ...changes })),
    [],
  );

  // Show changes of others without a reload.
  const shown = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (version.data === undefined || description.data === undefined) return;
    const isNews = shown.current !== undefined && shown.current !== version.data;
    shown.current = version.data;
    if (isNews) void description.refetch().then(() => grid.current?.refresh());
  }, [version.data, description.data]);

  // When the service answers again, read the rows that could not be read.
  useEffect(() => {
    if (version.data === undefined) return;
    if (description.isError) void description.refetch();
    if (!status.isMissing) return;
    onStatus({ isMissing: false });
    grid.current?.refresh();
  }, [version.dataUpdatedAt]);

  // Ask with GET if the HEAD fails, because the answer to a HEAD has no message.
  useEffect(() => {
    if (isNotThere(version.error)) void description.refetch();
  }, [version.errorUpdatedAt]);

  const onWritten = useCallback(
    () => void queries.invalidateQueries({ queryKey: ['version', tableID] }),
    [queries, tableID],
  );

  async function addRow(): Promise<void> {
    try {
      await table.add([{}]);
      const { data } = await description.refetch();
      if (status.view.filter === undefined && status.view.sort === undefined) {
        grid.current?.showLast(data!.rows);
        return;
      }
      grid.current?.refresh();
      notices.say(
        status.view.filter === undefined
          ? 'A row was added. Because the rows are sorted, it is among the empty cells.'
          : 'A row was added at the end of the table. The filter hides it unless empty cells match.',
      );
    } catch (error) {
      notices.fail(error);
    }
  }

  const isGone = isErrorOfType(description.error, 'table_not_found');
  if (isGone || (description.isError && description.data === undefined))
    return (
      <NoTable
        text={isGone ? 'There is no such table. Somebody may have deleted it.' : describeError(description.error)}
      />
    );
  if (description.data === undefined) return <p className="waiting">Loading …</p>;
  const { name, rows } = description.data;
  const isFiltered = status.view.filter !== undefined;
  return (
    <div className="table-page">
      <div className="page-head">
        <h1 title={name}>{name === '' ? '(without a name)' : name}</h1>
        {canWrite && (
          <button type="button" onClick={() => void addRow()}>
            Add a row
          </button>
        )}
        {status.selected > 0 && (
          <button type="button" onClick={() => setDeleting(grid.current!.selected())}>
            Delete {showCount(status.selected, 'row')}
          </button>
        )}
        <TableMenu
          table={table}
          description={description.data}
          view={status.view}
          viewRows={status.rows}
          canWrite={canWrite}
          onDropped={() => goTo('/')}
          onChanged={() => void description.refetch()}
        />
      </div>
      <Grid
        ref={grid}
        table={table}
        description={description.data}
        canWrite={canWrite}
        onStatus={onStatus}
        onWritten={onWritten}
        onChanged={() => void description.refetch().then(() => grid.current?.refresh())}
      />
      {status.problem !== null && (
        <p className="no-rows" role="alert">
          <span className="problem">{status.problem}</span>
        </p>
      )}
      {status.problem === null && status.rows === 0 && (
        <p className="no-rows">
          {isFiltered ? 'No row matches the filter.' : `No rows yet.${canWrite ? ' Add, paste or import some.' : ''}`}
        </p>
      )}
      <p className="status-line" role="status">
        <span>
          {isFiltered
            ? `${status.rows === null ? '…' : showNumber(status.rows)} of ${showCount(rows, 'row')}`
            : showCount(rows, 'row')}
        </span>
        {status.step !== null && <span>Reading on from row {showNumber(status.step)} …</span>}
        <span>Version {version.data?.slice(1, -1) ?? '…'}</span>
        {version.isError && <span className="problem">{describeError(version.error)} Trying again …</span>}
      </p>
      {deleting.length > 0 && (
        <ConfirmDialog
          title={`Delete ${showCount(deleting.length, 'row')}?`}
          action="Delete"
          onClose={() => setDeleting([])}
          onConfirm={() => {
            setDeleting([]);
            void grid.current!.deleteRows(deleting);
          }}
        >
          <p>{deleting.length === 1 ? 'Its values' : 'Their values'} will be lost for everybody.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

/** The page of a table that cannot be shown. */
function NoTable({ text }: { readonly text: string }): ReactElement {
  return (
    <div className="page">
      <Problem>{text}</Problem>
      <p>
        <Link href="/">Back to the tables</Link>
      </p>
    </div>
  );
}
