import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useState, type ReactElement } from 'react';
import { Link, useLocation } from 'wouter';
import type { TableSummary } from '../../../clients/typescript/src/index.ts';
import { useImports } from '../import/import-provider.tsx';
import { useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';
import { List } from '../ui/list.tsx';
import { Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { showCount, showNumber, showTime } from '../ui/format.ts';
import { NewTable } from './new-table.tsx';

/** Interval between requests for the list, in milliseconds. */
const askEveryMs = 5000;
const shownAtFirst = 50;

/** The tables of the team. */
export function TablesPage(): ReactElement {
  useTitle('Tables');
  const { tablog } = useSession();
  const { canImport, choose } = useImports();
  const [, goTo] = useLocation();
  const [search, setSearch] = useState(searchOfHistory);
  const [shown, setShown] = useState(shownAtFirst);
  const [isCreating, setCreating] = useState(false);
  const wanted = useDeferredValue(search.trim().toLowerCase());
  const tables = useQuery({
    queryKey: ['tables'],
    queryFn: () => tablog.tables().toArray(),
    refetchInterval: askEveryMs,
  });
  const found = (tables.data ?? [])
    .filter(({ id, name }) => name.toLowerCase().includes(wanted) || id === wanted)
    .toReversed();

  function changeSearch(text: string): void {
    setSearch(text);
    history.replaceState({ search: text }, '');
  }

  return (
    <div className="page">
      <div className="page-head">
        <h1>Tables</h1>
        <input
          type="search"
          aria-label="Search tables"
          placeholder="Search"
          value={search}
          onChange={(event) => changeSearch(event.target.value)}
        />
        {canImport && (
          <button type="button" className="primary" onClick={choose}>
            Import a file
          </button>
        )}
        {canImport && (
          <button type="button" onClick={() => setCreating(true)}>
            New table
          </button>
        )}
      </div>
      {tables.isError && (
        <Problem>
          {describeError(tables.error)} {tables.data && 'The list may be out of date.'}
        </Problem>
      )}
      {tables.data?.length === 0 && (
        <div className="card empty">
          <h2>There is no table yet</h2>
          {canImport && (
            <p>
              Drop a file with rows on this page: CSV, TSV, JSON or NDJSON, of any size. Or paste rows from a
              spreadsheet.
            </p>
          )}
        </div>
      )}
      {found.length > 0 && (
        <List
          label="Tables"
          headings={[
            'Name',
            { title: 'Rows', className: 'number' },
            { title: 'Columns', className: 'wide number' },
            { title: 'Created', className: 'wide' },
          ]}
        >
          {found.slice(0, shown).map((table) => (
            <TableLine key={table.id} table={table} />
          ))}
        </List>
      )}
      {tables.data !== undefined && tables.data.length > 0 && found.length === 0 && (
        <p>No table has a name with “{search}” in it.</p>
      )}
      {found.length > shown && (
        <button type="button" onClick={() => setShown(shown + shownAtFirst)}>
          Show more of {showCount(found.length, 'table')}
        </button>
      )}
      {isCreating && <NewTable onClose={() => setCreating(false)} onCreated={(id) => goTo(`/tables/${id}`)} />}
    </div>
  );
}

/** The search text when the person left this page, so that the back button restores it. */
function searchOfHistory(): string {
  return (history.state as { readonly search?: string } | null)?.search ?? '';
}

/** One line of the list. The list has only names; the rest is requested for visible lines. */
function TableLine({ table: { id, name } }: { readonly table: TableSummary }): ReactElement {
  const { tablog } = useSession();
  const { data } = useQuery({
    queryKey: ['table', id],
    queryFn: () => tablog.table(id).describe(),
    staleTime: askEveryMs,
  });
  return (
    <tr>
      <th scope="row">
        <Link href={`/tables/${id}`}>{name === '' ? '(without a name)' : name}</Link>
      </th>
      <td className="number">{data && showNumber(data.rows)}</td>
      <td className="wide number">{data?.schema.columns.length}</td>
      <td className="wide time">{data && showTime(data.created)}</td>
    </tr>
  );
}
