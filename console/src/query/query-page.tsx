import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import type { AnyRow, SqlResult } from '../../../clients/typescript/src/index.ts';
import { useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';
import { showCount, showDuration } from '../ui/format.ts';
import { Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { LineChart } from '../ui/line-chart.tsx';
import { chartOf } from './chart-data.ts';
import { Editor } from './editor.tsx';
import { ResultGrid } from './result-grid.tsx';

/** Maximum of tables whose columns are completed. */
const completedMax = 100;

/** State of a history entry, besides its address. */
interface HistoryNote {
  readonly isQueryWanted: boolean;
}

interface Answer {
  readonly result: SqlResult<AnyRow>;
  readonly ms: number;
}

/**
 * SQL over the tables of the team. The query is in the address. A query from a link runs only after a click, because
 * somebody else may have written it. The history entry records the click, so that a reload and the back button run the
 * query again. No link can write into the history.
 */
export function QueryPage(): ReactElement {
  useTitle('Query');
  const { tablog } = useSession();
  const [, goTo] = useLocation();
  const asked = sqlOfAddress();
  const [text, setText] = useState(asked);
  const [isWanted, setWanted] = useState(() => (history.state as HistoryNote | null)?.isQueryWanted === true);
  const [isChart, setChart] = useState(false);
  const answer = useQuery({
    queryKey: ['sql', asked],
    enabled: asked !== '' && isWanted,
    staleTime: Infinity,
    gcTime: 0,
    queryFn: async (): Promise<Answer> => {
      const began = performance.now();
      return { result: await tablog.sql(asked), ms: performance.now() - began };
    },
  });
  const schema = useSchema();
  const chart = useMemo(() => (answer.data === undefined ? null : chartOf(answer.data.result)), [answer.data]);

  function run(): void {
    const sql = text.trim();
    if (sql === '') return;
    const note: HistoryNote = { isQueryWanted: true };
    if (sql !== asked) {
      goTo(`/query/${encodeURIComponent(sql)}`, { state: note });
    } else if (isWanted) {
      void answer.refetch();
    } else {
      history.replaceState(note, '');
      setWanted(true);
    }
  }

  return (
    <div className="query-page">
      <div className="page-head">
        <h1>Query</h1>
        <button type="button" className="primary" onClick={run} disabled={answer.isFetching} title="Ctrl + Enter">
          {answer.isFetching ? 'Running …' : 'Run'}
        </button>
      </div>
      <Editor text={text} schema={schema} onChange={setText} onRun={run} />
      {answer.isError && <Problem>{describeError(answer.error)}</Problem>}
      {answer.data !== undefined && !answer.isError && (
        <>
          <div className="status-line" role="status">
            <span>
              {showCount(answer.data.result.data.length, 'row')} in{' '}
              {answer.data.ms < 1000 ? `${Math.round(answer.data.ms)} ms` : showDuration(answer.data.ms)}
            </span>
            {chart !== null && (
              <label className="choice">
                <input type="checkbox" checked={isChart} onChange={(event) => setChart(event.target.checked)} /> Chart
              </label>
            )}
          </div>
          {isChart && chart !== null ? (
            <>
              {chart.leftOut.map((words) => (
                <p key={words} className="chart-note" role="status">
                  {words}
                </p>
              ))}
              <LineChart
                label={`${chart.series.join(', ')} by ${chart.across}`}
                kind={chart.kind}
                across={chart.across}
                names={chart.names}
                series={chart.series}
                values={chart.values}
              />
            </>
          ) : (
            <ResultGrid result={answer.data.result} />
          )}
        </>
      )}
      {asked !== '' && !isWanted && (
        <p className="waiting" role="status">
          This query comes from a link, and has not run yet. Read it, then run it.
        </p>
      )}
      {asked === '' && (
        <p className="waiting">
          One SELECT over your tables, in the SQL of DuckDB:{' '}
          <code>SELECT Origin, count(*) FROM cars GROUP BY Origin</code>. Once it has run, the link in the address bar
          contains it. If a column is named like a keyword, quote it: <code>"order"</code>.
        </p>
      )}
    </div>
  );
}

/** The SQL of the address, read from `location`: the router decodes a part of it. */
function sqlOfAddress(): string {
  const encoded = /^#\/query\/(.*)$/s.exec(location.hash)?.[1] ?? '';
  try {
    return decodeURIComponent(encoded);
  } catch {
    // Somebody has typed it without encoding.
    return encoded;
  }
}

/** The known columns, by table. */
function useSchema(): Readonly<Record<string, readonly string[]>> {
  const { tablog } = useSession();
  const { data: tables = [] } = useQuery({ queryKey: ['tables'], queryFn: () => tablog.tables().toArray() });
  const described = useQueries({
    queries: tables
      .slice(0, completedMax)
      .map(({ id }) => ({ queryKey: ['table', id], queryFn: () => tablog.table(id).describe(), staleTime: 60_000 })),
    combine: (all) =>
      JSON.stringify(
        all.flatMap(({ data }) =>
          data === undefined ? [] : [[data.name, data.schema.columns.map((column) => column.id)]],
        ),
      ),
  });
  return useMemo(
    () =>
      Object.fromEntries([...tables.map(({ name }) => [name, []]), ...(JSON.parse(described) as [string, string[]][])]),
    [tables, described],
  );
}
