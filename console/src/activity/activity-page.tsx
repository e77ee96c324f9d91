import { useQuery } from '@tanstack/react-query';
import { useMemo, type ReactElement } from 'react';
import { Link } from 'wouter';
import type { Activity, ListedJob } from '../../../clients/typescript/src/index.ts';
import { useSession } from '../session/service.ts';
import { useWho } from '../session/who.ts';
import { List } from '../ui/list.tsx';
import { Part } from '../ui/part.tsx';
import { showCount, showNumber, showTime } from '../ui/format.ts';
import { Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { LineChart } from '../ui/line-chart.tsx';
import { namesOfOperations } from './names.ts';
import { QuotaLine, QuotaList } from './quota-line.tsx';

const askEveryMs = 3000;
const shownMax = 50;

/** The activity of the service for the team. */
export function ActivityPage(): ReactElement {
  useTitle('Activity');
  const { who } = useWho();
  return (
    <div className="page">
      <h1>Activity</h1>
      {who?.kind === 'team' && who.token.appID !== null && (
        <p>This token is limited to the app {who.token.appID}. The page shows only jobs and files of that app.</p>
      )}
      <Hour />
      <Quotas />
      <Jobs />
      <Uploads />
    </div>
  );
}

function Hour(): ReactElement {
  const { tablog } = useSession();
  const query = useQuery({ queryKey: ['activity'], queryFn: () => tablog.activity(), refetchInterval: askEveryMs });
  return (
    <Part title="The last hour" query={query}>
      {(activity) => (
        <>
          <LogState log={activity.log} />
          <Curves minutes={activity.minutes} />
          <p className="faint">Counts of one process of the service, since {showTime(activity.since)}.</p>
        </>
      )}
    </Part>
  );
}

function LogState({
  log: { version, eventsBehind, halted, quarantinedSince },
}: {
  readonly log: Activity['log'];
}): ReactElement {
  return (
    <>
      {halted !== null && <Problem>The service accepts no writes to your tables: {halted}. Tell an operator.</Problem>}
      {quarantinedSince !== null && (
        <Problem>
          The service has refused your requests since {showTime(quarantinedSince)}, because it could not process one of
          your events. Tell an operator.
        </Problem>
      )}
      <p>
        {eventsBehind === 0
          ? `Up to date (version ${version}).`
          : `The tables show version ${version}. ${showCount(eventsBehind, 'event')} still to be processed.`}
      </p>
    </>
  );
}

const minuteMs = 60_000;
const hourMinutes = 60;

function Curves({ minutes }: { readonly minutes: Activity['minutes'] }): ReactElement {
  const { requests, rows } = useMemo(() => {
    const byTime = new Map(minutes.map((minute) => [Date.parse(minute.start), minute]));
    const last = Math.max(...byTime.keys(), Math.floor(Date.now() / minuteMs) * minuteMs);
    const times = Array.from({ length: hourMinutes }, (_, index) => last - (hourMinutes - 1 - index) * minuteMs);
    const curve = (count: (minute: Activity['minutes'][number]) => number): number[] =>
      times.map((time) => (byTime.has(time) ? count(byTime.get(time)!) : 0));
    const across = times.map((time) => time / 1000);
    return {
      requests: [
        across,
        curve(({ requests: counts }) => counts['2xx'] + counts['3xx']),
        curve(({ requests: counts }) => counts['4xx']),
        curve(({ requests: counts }) => counts['5xx'] + counts.cutOff),
      ],
      rows: [across, curve(({ rowsWritten }) => rowsWritten), curve(({ rowsRead }) => rowsRead)],
    };
  }, [minutes]);
  return (
    <div className="pair">
      <LineChart
        label="Requests per minute"
        kind="time"
        across="Time"
        series={requestSeries}
        values={requests}
        height={180}
      />
      <LineChart label="Rows per minute" kind="time" across="Time" series={rowSeries} values={rows} height={180} />
    </div>
  );
}
const requestSeries = ['requests', 'refused', 'failed'];
const rowSeries = ['rows written', 'rows read'];

function Quotas(): ReactElement {
  const { tablog } = useSession();
  const query = useQuery({ queryKey: ['usage'], queryFn: () => tablog.usage(), refetchInterval: 2 * askEveryMs });
  return (
    <Part title="Usage" query={query}>
      {({ quotas, rateLimits, suspended }) => (
        <>
          {suspended && <Problem>The team is suspended.</Problem>}
          <QuotaList>
            {Object.entries(quotas).map(([name, quota]) => (
              <QuotaLine key={name} name={name} quota={quota} />
            ))}
            {rateLimits.map(({ name, max, left, windowSeconds }) => (
              <QuotaLine
                key={`rate-${name}`}
                name={name}
                title={`${name} in ${windowSeconds} s`}
                quota={{ used: max - left, max }}
              />
            ))}
          </QuotaList>
        </>
      )}
    </Part>
  );
}

function Jobs(): ReactElement {
  const { tablog } = useSession();
  const query = useQuery({
    queryKey: ['jobs'],
    queryFn: () => tablog.jobs({ limit: shownMax }).page(),
    refetchInterval: askEveryMs,
  });
  return (
    <Part title="Jobs of the last 7 days" query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <p>No jobs.</p>
        ) : (
          <List
            label="Jobs"
            headings={[
              'Job',
              'State',
              { title: 'Rows', className: 'number' },
              { title: 'Asked for', className: 'wide' },
            ]}
          >
            {data.map((job) => (
              <JobLine key={job.id} job={job} />
            ))}
          </List>
        )
      }
    </Part>
  );
}

function JobLine({
  job: { operation, tableID, status, error, progress, created },
}: {
  readonly job: ListedJob;
}): ReactElement {
  const name = namesOfOperations[operation] ?? operation;
  const { rowsDone, rowsTotal, eventsAhead } = progress;
  return (
    <tr>
      <th scope="row">{tableID === null ? name : <Link href={`/tables/${tableID}`}>{name}</Link>}</th>
      <td>
        {status === 'running' &&
          (eventsAhead === undefined || eventsAhead === 0
            ? 'running'
            : `waiting for at most ${showCount(eventsAhead, 'event')}`)}
        {status === 'succeeded' && 'done'}
        {status === 'failed' && <span className="problem">{error?.message ?? 'failed'}</span>}
      </td>
      <td className="number">
        {rowsTotal === null ? showNumber(rowsDone) : `${showNumber(rowsDone)} of ${showNumber(rowsTotal)}`}
      </td>
      <td className="wide">{showTime(created)}</td>
    </tr>
  );
}

function Uploads(): ReactElement {
  const { tablog } = useSession();
  const query = useQuery({
    queryKey: ['uploads'],
    queryFn: () => tablog.uploads({ limit: shownMax }).page(),
    refetchInterval: 2 * askEveryMs,
  });
  return (
    <Part title="Uploaded files" query={query}>
      {({ data }) =>
        data.length === 0 ? (
          <p>No uploaded files.</p>
        ) : (
          <List
            label="Uploads"
            headings={['File', 'State', { title: 'Type', className: 'wide' }, { title: 'App', className: 'wide' }]}
          >
            {data.map(({ id, fileName, status, contentType, appID, url }) => (
              <tr key={id}>
                <th scope="row">
                  {url ? (
                    <a href={url} target="_blank" rel="noreferrer">
                      {fileName}
                    </a>
                  ) : (
                    fileName
                  )}
                </th>
                <td>{status}</td>
                <td className="wide">{contentType}</td>
                <td className="wide">{appID}</td>
              </tr>
            ))}
          </List>
        )
      }
    </Part>
  );
}
