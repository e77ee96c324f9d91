import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement, type SubmitEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
import { showBytes, showNumber } from '../ui/format.ts';
import { List } from '../ui/list.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Part } from '../ui/part.tsx';

const askEveryMs = 5000;

/** All teams, and their use of quotas. */
export function TeamsPage(): ReactElement {
  useTitle('Teams');
  const { tablog } = useSession();
  const [, goTo] = useLocation();
  const [isCreating, setCreating] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const teams = useQuery({
    queryKey: ['teams'],
    queryFn: () => tablog.operator.teams().toArray(),
    refetchInterval: askEveryMs,
  });

  function create(event: SubmitEvent<HTMLFormElement>): void {
    event.preventDefault();
    const name = new FormData(event.currentTarget).get('name') as string;
    tablog.operator.createTeam(name).then(
      ({ id }) => goTo(`/teams/${id}`),
      (error: unknown) => setProblem(describeError(error)),
    );
  }

  return (
    <div className="page">
      <div className="page-head">
        <h1>Teams</h1>
        <button type="button" className="primary" onClick={() => setCreating(true)}>
          New team
        </button>
      </div>
      <Part title="All teams" query={teams}>
        {(list) => (
          <List
            label="Teams"
            headings={[
              'Team',
              'State',
              { title: 'Rows', className: 'number' },
              { title: 'Files', className: 'number wide' },
            ]}
          >
            {list.map(({ id, name, suspended, rows, uploadBytes }) => (
              <tr key={id}>
                <th scope="row">
                  <Link href={`/teams/${id}`}>{name === '' ? id : name}</Link>
                </th>
                <td>{suspended ? 'suspended' : 'active'}</td>
                <td className="number">{showNumber(rows)}</td>
                <td className="number wide">{showBytes(uploadBytes)}</td>
              </tr>
            ))}
          </List>
        )}
      </Part>
      {isCreating && (
        <Dialog title="New team" onClose={() => setCreating(false)}>
          <form onSubmit={create}>
            <label>
              Name <input name="name" required autoFocus />
            </label>
            <FormEnd problem={problem} action="Create" onCancel={() => setCreating(false)} />
          </form>
        </Dialog>
      )}
    </div>
  );
}
