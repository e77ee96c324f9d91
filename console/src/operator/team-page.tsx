import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement, type SubmitEvent } from 'react';
import type { PlanChange, Team } from '../../../clients/typescript/src/index.ts';
import { namesOfQuotas } from '../activity/names.ts';
import { QuotaLine, QuotaList } from '../activity/quota-line.tsx';
import { useSession } from '../session/service.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { describeError } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
import { showTime } from '../ui/format.ts';
import { numberOfText } from '../ui/number-of-text.ts';
import { useNotices } from '../ui/notices.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Part } from '../ui/part.tsx';
import { TeamTokens } from './tokens.tsx';

/** The page of a team: its use of quotas, its plan and its tokens. */
export function TeamPage({ teamID }: { readonly teamID: string }): ReactElement {
  const {
    tablog: { operator },
  } = useSession();
  const notices = useNotices();
  const [isPlanning, setPlanning] = useState(false);
  const [isSuspending, setSuspending] = useState(false);
  const team = useQuery({ queryKey: ['team', teamID], queryFn: () => operator.team(teamID) });
  useTitle(team.data?.name ?? 'Team');
  const act = (action: Promise<unknown>): void => void action.then(() => team.refetch()).catch(notices.fail);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{team.data?.name ?? 'Team'}</h1>
        {team.data !== undefined && (
          <button type="button" onClick={() => setPlanning(true)}>
            Plan
          </button>
        )}
        {team.data?.suspended === false && (
          <button type="button" className="danger" onClick={() => setSuspending(true)}>
            Suspend
          </button>
        )}
        {team.data?.suspended === true && (
          <button type="button" className="primary" onClick={() => act(operator.resume(teamID))}>
            Resume
          </button>
        )}
      </div>
      <Part title="Usage" query={team}>
        {({ suspended, quarantinedSince, quotas }) => (
          <>
            {suspended && (
              <p className="problem">Suspended: the service refuses its requests and the addresses of its files.</p>
            )}
            {quarantinedSince !== null && <p className="problem">In quarantine since {showTime(quarantinedSince)}.</p>}
            <QuotaList>
              {Object.entries(quotas).map(([name, quota]) => (
                <QuotaLine key={name} name={name} quota={quota} />
              ))}
            </QuotaList>
          </>
        )}
      </Part>
      <TeamTokens teamID={teamID} />
      {isSuspending && (
        <ConfirmDialog
          title={`Suspend ${team.data!.name}?`}
          action="Suspend"
          onClose={() => setSuspending(false)}
          onConfirm={() => {
            setSuspending(false);
            act(operator.suspend(teamID));
          }}
        >
          <p>The service refuses its requests and the addresses of its files until an operator resumes it.</p>
        </ConfirmDialog>
      )}
      {isPlanning && (
        <PlanDialog team={team.data!} onClose={() => setPlanning(false)} onChanged={() => void team.refetch()} />
      )}
    </div>
  );
}

/** The limits of the plan. An empty one is not set, so that the default of the service applies. */
function PlanDialog({
  team: { id, quotas },
  onClose,
  onChanged,
}: {
  readonly team: Team;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}): ReactElement {
  const {
    tablog: { operator },
  } = useSession();
  const [problem, setProblem] = useState<string | null>(null);

  async function save(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    try {
      await operator.setPlan(
        id,
        Object.fromEntries(
          Object.keys(quotas).map((name) => {
            const text = form.get(name) as string;
            return [`${name}Max`, text === '' ? null : numberOfText(text)];
          }),
        ) as PlanChange,
      );
      onChanged();
      onClose();
    } catch (error) {
      setProblem(describeError(error));
    }
  }

  return (
    <Dialog title="Plan" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
        <p>If you leave a limit empty, the limit of the service applies, if it has one.</p>
        {Object.entries(quotas).map(([name, { max, setBy }]) => (
          <label key={name}>
            {namesOfQuotas[name] ?? name}{' '}
            <input name={name} type="number" min={0} step={1} defaultValue={setBy === 'plan' ? (max ?? '') : ''} />
          </label>
        ))}
        <FormEnd problem={problem} action="Save" onCancel={onClose} />
      </form>
    </Dialog>
  );
}
