import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { useSession } from '../session/service.ts';
import { showCount, showNumber, showTime } from '../ui/format.ts';
import { List } from '../ui/list.tsx';
import { useNotices } from '../ui/notices.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Part } from '../ui/part.tsx';

const askEveryMs = 3000;

/** How far the log is projected, and what stops parts of it. */
export function LogPage(): ReactElement {
  useTitle('Log');
  const {
    tablog: { operator },
  } = useSession();
  const notices = useNotices();
  const partitions = useQuery({
    queryKey: ['partitions'],
    queryFn: () => operator.partitions(),
    refetchInterval: askEveryMs,
  });
  const quarantine = useQuery({
    queryKey: ['quarantine'],
    queryFn: () => operator.quarantine(),
    refetchInterval: askEveryMs,
  });
  const release = (teamID: string): void =>
    void operator
      .release(teamID)
      .then(async ({ released, error }) => {
        if (released) notices.say('The team is released.');
        else notices.fail(new Error(error ?? 'The team stays in quarantine.'));
        await quarantine.refetch();
      })
      .catch(notices.fail);
  return (
    <div className="page">
      <h1>Log</h1>
      <Part title="Partitions" query={partitions}>
        {(list) => (
          <List
            label="Partitions"
            headings={[
              'Partition',
              'State',
              { title: 'Behind', className: 'number' },
              { title: 'Version', className: 'number wide' },
              { title: 'End of the log', className: 'number wide' },
              {
                title: <abbr title="It rises each time another process takes the partition over.">Epoch</abbr>,
                className: 'number wide',
              },
            ]}
          >
            {list.map(({ partition, halted, contradicted, behind, version, logEnd, epoch, quarantined }) => (
              <tr key={partition}>
                <th scope="row">{partition}</th>
                <td>
                  {halted === null ? (
                    'running'
                  ) : (
                    <span className="problem">
                      halted: {halted}
                      {contradicted &&
                        '. The log lacks events that were projected. Run tablog log resume (docs/operate/operations.md)'}
                    </span>
                  )}
                  {quarantined.length > 0 && ` (${showCount(quarantined.length, 'team')} in quarantine)`}
                </td>
                <td className="number">{showNumber(behind)}</td>
                <td className="number wide">{version}</td>
                <td className="number wide">{logEnd}</td>
                <td className="number wide">{epoch}</td>
              </tr>
            ))}
          </List>
        )}
      </Part>
      <Part title="Quarantine" query={quarantine}>
        {(list) =>
          list.length === 0 ? (
            <p>No team is in quarantine.</p>
          ) : (
            <List
              label="Quarantine"
              headings={[
                'Team',
                'Why',
                { title: 'Since', className: 'wide' },
                { title: <span className="unseen">Release</span> },
              ]}
            >
              {list.map(({ teamID, name, reason, since }) => (
                <tr key={teamID}>
                  <th scope="row">{name ?? teamID}</th>
                  <td>{reason}</td>
                  <td className="wide">{showTime(since)}</td>
                  <td>
                    <button type="button" onClick={() => release(teamID)}>
                      Release
                    </button>
                  </td>
                </tr>
              ))}
            </List>
          )
        }
      </Part>
    </div>
  );
}
