import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { useSession } from '../session/service.ts';
import { useCanWrite } from '../session/who.ts';
import { TableMenu } from '../tables/table-menu.tsx';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { describeError } from '../ui/describe-error.ts';
import { showCount, showNumber } from '../ui/format.ts';
import { useTitle } from '../ui/use-title.ts';
import { useNotices } from '../ui/notices.tsx';
import type { SeenRow } from './guarded-rows.ts';
import { Grid, type GridHandle, type GridStatus } from './grid.tsx';

/** How often the table is asked for its version, in milliseconds. */
const askEveryMs = 2000;

/** A table: its rows, and what can be done with it. */
export function TablePage({ tableID }: { readonly tableID: string }): ReactElement {
  const { tablog } = useSession();
  const [, goTo] = useLocation();
  const queries = useQueryClient();
  const notices = useNotices();
  const table = useMemo(() => tablog.table(tableID), [tablog, tableID]);
  const grid = useRef<GridHandle>(null);
  const [status, setStatus] = useState<GridStatus>({ view: {}, rows: null, step: null, selected: 0, isMissing: false });
  /** The rows that are to be deleted, as they were seen when that was chosen. */
  const [deleting, setDeleting] = useState<readonly SeenRow[]>([]);
  const canWrite = useCanWrite();
  const version = useQuery({ queryKey: ['version', tableID], queryFn: () => table.version(), refetchInterval: askEveryMs });
  const description = useQuery({ queryKey: ['table', tableID], queryFn: () => table.describe(), staleTime: 0 });
  useTitle(description.data?.name ?? 'Table');
  const onStatus = useCallback((changes: Partial<GridStatus>) => setStatus((before) => ({ ...before, ...changes })), []);

  // What has changed elsewhere shows without a reload.
  const shown = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (version.data === undefined || description.data === undefined) return;
    const isNews = shown.current !== undefined && shown.current !== version.data;
    shown.current = version.data;
    if (isNews) void description.refetch().then(() => grid.current?.refresh());
  }, [version.data, description.data]);

  // What could not be read is read once the service answers again.
  useEffect(() => {
    if (version.data === undefined) return;
    if (description.isError) void description.refetch();
    if (!status.isMissing) return;
    onStatus({ isMissing: false });
    grid.current?.refresh();
  }, [version.dataUpdatedAt]);

  const onWritten = useCallback(() => void queries.invalidateQueries({ queryKey: ['version', tableID] }), [queries, tableID]);

  async function addRow(): Promise<void> {
    try {
      await table.add([{}]);
      const { data } = await description.refetch();
      grid.current?.showLast(data!.rows);
    } catch (error) {
      notices.fail(error);
    }
  }

  if (description.isError && description.data === undefined) return <div className="page"><p className="problem" role="alert">{describeError(description.error)}</p></div>;
  if (description.data === undefined) return <p className="waiting">Loading …</p>;
  const { name, rows } = description.data;
  const isFiltered = status.view.filter !== undefined;
  return (
    <div className="table-page">
      <div className="page-head">
        <h1 title={name}>{name === '' ? '(without a name)' : name}</h1>
        {canWrite && <button type="button" onClick={() => void addRow()}>Add a row</button>}
        {status.selected > 0 && <button type="button" onClick={() => setDeleting(grid.current!.selected())}>Delete {showCount(status.selected, 'row')}</button>}
        <TableMenu table={table} description={description.data} view={status.view} canWrite={canWrite} onDropped={() => goTo('/')} onChanged={() => void description.refetch()} />
      </div>
      <Grid ref={grid} table={table} description={description.data} canWrite={canWrite} onStatus={onStatus} onWritten={onWritten} />
      <p className="status-line" role="status">
        <span>{isFiltered ? `${status.rows === null ? '…' : showNumber(status.rows)} of ${showCount(rows, 'row')}` : showCount(rows, 'row')}</span>
        {status.step !== null && <span>Going on from row {showNumber(status.step)} …</span>}
        <span>Version {version.data?.slice(1, -1) ?? '…'}</span>
        {version.isError && <span className="problem">{describeError(version.error)} Trying again …</span>}
      </p>
      {deleting.length > 0 && (
        <ConfirmDialog
          title={`Delete ${showCount(deleting.length, 'row')}?`} action="Delete" onClose={() => setDeleting([])}
          onConfirm={() => {
            setDeleting([]);
            void grid.current!.deleteRows(deleting);
          }}
        >
          <p>They cannot be brought back.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
