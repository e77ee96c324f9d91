import { useState, type ReactElement, type SubmitEvent } from 'react';
import { describeError } from '../ui/describe-error.ts';
import { openService } from './service.ts';
import type { Session } from './session.ts';
import { askWho } from './who.ts';

/** Asks for a token and tries it. `reason`: why the last session ended. */
export function SignIn({
  reason,
  onSession,
}: {
  readonly reason: string | null;
  readonly onSession: (session: Session) => void;
}): ReactElement {
  const [problem, setProblem] = useState(reason);
  const [isBusy, setBusy] = useState(false);

  async function signIn(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const token = (form.get('token') as string).trim();
    setBusy(true);
    try {
      await askWho(openService(token));
      onSession({ token, isKept: form.get('keep') === 'on' });
    } catch (error) {
      setProblem(describeError(error));
      setBusy(false);
    }
  }

  return (
    <main className="sign-in">
      <form className="card" onSubmit={(event) => void signIn(event)}>
        <h1>Tablog</h1>
        <p>
          Enter an access token of your team or of an operator. The service prints a link with one when it starts;{' '}
          <code>tablog tokens create</code> creates more.
        </p>
        <label>
          Access token
          <input
            name="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            autoFocus
            aria-describedby={problem === null ? undefined : 'sign-in-problem'}
          />
        </label>
        <label className="choice">
          <input name="keep" type="checkbox" /> Keep it on this device
        </label>
        {problem !== null && (
          <p id="sign-in-problem" className="problem" role="alert">
            {problem}
          </p>
        )}
        <button className="primary" disabled={isBusy}>
          {isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>
  );
}
