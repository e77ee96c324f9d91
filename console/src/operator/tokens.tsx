import { useQuery } from '@tanstack/react-query';
import { useMemo, useState, type ReactElement, type SubmitEvent } from 'react';
import type { OperatorToken, Token } from '../../../clients/typescript/src/index.ts';
import { serviceUrl, useSession } from '../session/service.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { describeError } from '../ui/describe-error.ts';
import { Dialog, FormEnd } from '../ui/dialog.tsx';
import { showTime } from '../ui/format.ts';
import { List } from '../ui/list.tsx';
import { numberOfText } from '../ui/number-of-text.ts';
import { useNotices } from '../ui/notices.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Part } from '../ui/part.tsx';
import { namesOfTokens } from './token-names.ts';

const dayMs = 86_400_000;

/** The tokens of a team. */
export function TeamTokens({ teamID }: { readonly teamID: string }): ReactElement {
  const {
    tablog: { operator },
  } = useSession();
  return (
    <Tokens
      title="Tokens"
      id={teamID}
      ofTeam
      list={() => operator.tokens(teamID).toArray()}
      create={async ({ name, expires, readOnly, appID }) =>
        (await operator.createToken(teamID, { ...nameOf(name), expires, readOnly, appID })).token
      }
    />
  );
}

/** The tokens of operators. */
export function OperatorTokensPage(): ReactElement {
  useTitle('Tokens');
  const {
    tablog: { operator },
  } = useSession();
  return (
    <div className="page">
      <h1>Tokens of operators</h1>
      <Tokens
        title="All tokens"
        id="operators"
        ofTeam={false}
        list={() => operator.operatorTokens().toArray()}
        create={async ({ name, expires }) => (await operator.createOperatorToken({ ...nameOf(name), expires })).token}
      />
    </div>
  );
}

/** Omits an empty name, so that the service makes one. */
function nameOf(name: string): { readonly name?: string } {
  return name === '' ? {} : { name };
}

interface Wanted {
  /** Empty: no name. */
  readonly name: string;
  readonly expires: string | null;
  readonly readOnly: boolean;
  readonly appID: string | null;
}

interface TokensProps {
  readonly title: string;
  readonly id: string;
  readonly ofTeam: boolean;
  readonly list: () => Promise<readonly (Token | OperatorToken)[]>;
  /** Resolves with the secret. */
  readonly create: (wanted: Wanted) => Promise<string>;
}

function Tokens({ title, id, ofTeam, list, create }: TokensProps): ReactElement {
  const {
    tablog: { operator },
  } = useSession();
  const notices = useNotices();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<Token | OperatorToken | null>(null);
  const tokens = useQuery({ queryKey: ['tokens', id], queryFn: list });
  const names = useMemo(() => namesOfTokens(tokens.data ?? []), [tokens.data]);
  const revoke = (tokenID: string): void =>
    void operator
      .revoke(tokenID)
      .then(() => tokens.refetch())
      .catch(notices.fail);
  return (
    <>
      <Part title={title} query={tokens}>
        {(known) => (
          <List
            label={title}
            headings={[
              'Token',
              'State',
              { title: 'Last used', className: 'wide' },
              { title: <span className="unseen">Revoke</span> },
            ]}
          >
            {known.map((token) => (
              <tr key={token.id}>
                <th scope="row" title={token.id}>
                  {names.get(token.id)}
                </th>
                <td>{stateOf(token)}</td>
                <td className="wide">{token.lastUsed === null ? 'never' : showTime(token.lastUsed)}</td>
                <td>
                  {!token.revoked && (
                    <button
                      type="button"
                      aria-label={`Revoke ${names.get(token.id)!}`}
                      onClick={() => setRevoking(token)}
                    >
                      Revoke
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </List>
        )}
      </Part>
      <p>
        <button type="button" onClick={() => setCreating(true)}>
          New token
        </button>
      </p>
      {revoking !== null && (
        <ConfirmDialog
          title={`Revoke ${names.get(revoking.id) ?? revoking.id}?`}
          action="Revoke"
          onClose={() => setRevoking(null)}
          onConfirm={() => {
            setRevoking(null);
            revoke(revoking.id);
          }}
        >
          <p>From then on, the service refuses programs that use this token. They need a new token.</p>
        </ConfirmDialog>
      )}
      {isCreating && (
        <NewTokenDialog
          ofTeam={ofTeam}
          create={create}
          onClose={() => setCreating(false)}
          onCreated={() => void tokens.refetch()}
        />
      )}
    </>
  );
}

function stateOf(token: Token | OperatorToken): string {
  if (token.revoked) return 'revoked';
  const rights =
    'readOnly' in token
      ? [token.readOnly ? 'for reading' : '', token.appID === null ? '' : `for the app ${token.appID}`]
      : [];
  return [token.expires === null ? 'active' : `active until ${showTime(token.expires)}`, ...rights]
    .filter((part) => part !== '')
    .join(', ');
}

function NewTokenDialog({
  ofTeam,
  create,
  onClose,
  onCreated,
}: Pick<TokensProps, 'ofTeam' | 'create'> & {
  readonly onClose: () => void;
  readonly onCreated: () => void;
}): ReactElement {
  const [secret, setSecret] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  async function make(event: SubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const textOf = (name: string): string => (form.get(name) as string | null) ?? '';
    try {
      const days = textOf('days') === '' ? 0 : numberOfText(textOf('days'));
      setSecret(
        await create({
          name: textOf('name').trim(),
          expires: days > 0 ? new Date(Date.now() + days * dayMs).toISOString() : null,
          readOnly: form.get('readOnly') === 'on',
          appID: textOf('appID') || null,
        }),
      );
      onCreated();
    } catch (error) {
      setProblem(describeError(error));
    }
  }

  return (
    <Dialog title="New token" onClose={onClose}>
      {secret !== null ? (
        <>
          <p>This page shows the token only once. Anybody who has the token or the link can use it.</p>
          <label>
            Token <input readOnly value={secret} onFocus={({ target }) => target.select()} />
          </label>
          <label>
            Link to the console{' '}
            <input readOnly value={`${serviceUrl}#token=${secret}`} onFocus={({ target }) => target.select()} />
          </label>
          <footer>
            <button type="button" className="primary" onClick={onClose}>
              Done
            </button>
          </footer>
        </>
      ) : (
        <form onSubmit={(event) => void make(event)}>
          <label>
            Name (optional) <input name="name" autoFocus />
          </label>
          <label>
            Valid for days (empty: for ever) <input name="days" type="number" min={1} step={1} />
          </label>
          {ofTeam && (
            <label className="choice">
              <input name="readOnly" type="checkbox" /> For reading only
            </label>
          )}
          {ofTeam && (
            <label>
              App (empty: all of the team) <input name="appID" />
            </label>
          )}
          <FormEnd problem={problem} action="Create" onCancel={onClose} />
        </form>
      )}
    </Dialog>
  );
}
