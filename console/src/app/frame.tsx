import { useQuery } from '@tanstack/react-query';
import { Component, type ReactElement, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { serviceUrl, useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';

const pages = [['/', 'Tables'], ['/query', 'Query'], ['/activity', 'Activity']] as const;

/** What is around every page: the way to the others, who asks, and whether the service can be reached. */
export function Frame({ children }: { readonly children: ReactNode }): ReactElement {
  const { tablog, signOut } = useSession();
  const [place] = useLocation();
  const token = useQuery({ queryKey: ['token'], queryFn: () => tablog.token(), staleTime: Infinity });
  const isAt = (path: string): boolean => (path === '/' ? place === '/' || place.startsWith('/tables/') : place.startsWith(path));
  return (
    <>
      <a className="skip" href="#main" onClick={skipToMain}>Skip to the content</a>
      <header className="frame">
        <Link href="/" className="brand">Tablog</Link>
        <nav aria-label="Pages">
          {pages.map(([path, name]) => <Link key={path} href={path} aria-current={isAt(path) ? 'page' : undefined}>{name}</Link>)}
        </nav>
        <span className="who" title={token.data?.team.id}>{token.data?.team.name ?? ''}</span>
        <a href={`${serviceUrl}docs`} target="_blank" rel="noreferrer">API</a>
        <button type="button" className="quiet" onClick={signOut}>Sign out</button>
      </header>
      <main id="main" tabIndex={-1}>
        <Fence key={place}>{children}</Fence>
      </main>
    </>
  );
}

/** The address after # is that of the page. */
function skipToMain(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById('main')!.focus();
}

/** A page that fails takes no other with it. */
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
        <p className="problem" role="alert">This page has failed: {describeError(error)}</p>
        <button type="button" onClick={() => location.reload()}>Load it again</button>
      </div>
    );
  }
}
