import { Component, type ReactElement, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { serviceUrl, useSession } from '../session/service.ts';
import { useWho } from '../session/who.ts';
import { describeError } from '../ui/describe-error.ts';
import { Problem } from '../ui/problem.tsx';

const pages = {
  team: [
    ['/', 'Tables'],
    ['/query', 'Query'],
    ['/activity', 'Activity'],
  ],
  operator: [
    ['/', 'Teams'],
    ['/log', 'Log'],
    ['/tokens', 'Tokens'],
  ],
} as const;

/** The frame of every page: the navigation, the owner of the token, and whether the service can be reached. */
export function Frame({ children }: { readonly children: ReactNode }): ReactElement {
  const { signOut } = useSession();
  const { who } = useWho();
  const [place] = useLocation();
  const isAt = (path: string): boolean =>
    path === '/' ? place === '/' || /^\/(tables|teams)\//.test(place) : place.startsWith(path);
  return (
    <>
      <a className="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header className="frame">
        <Link href="/" className="brand">
          Tablog
        </Link>
        <nav aria-label="Pages">
          {pages[who?.kind ?? 'team'].map(([path, name]) => (
            <Link key={path} href={path} aria-current={isAt(path) ? 'page' : undefined}>
              {name}
            </Link>
          ))}
        </nav>
        <span className="who" title={who?.kind === 'team' ? who.token.team.id : ''}>
          {who?.kind === 'team' ? who.token.team.name : who && 'operator'}
        </span>
        <a href={`${serviceUrl}docs`} target="_blank" rel="noreferrer">
          API
        </a>
        <button type="button" className="quiet" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <Fence key={place}>{children}</Fence>
      </main>
    </>
  );
}

/** Skips to the content by script, because the part of the address after # names the page. */
function skipToMain(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById('main')!.focus();
}

/** Catches the failure of a page, so that the others go on. */
class Fence extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="page">
        <Problem>This page has failed: {describeError(error)}</Problem>
        <button type="button" onClick={() => location.reload()}>
          Reload the page
        </button>
      </div>
    );
  }
}
