import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useMemo, useState, type ReactElement } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { ImportProvider } from '../import/import-provider.tsx';
import { SessionContext, openService } from '../session/service.ts';
import { endSession, keepSession, openLinkedSession, openSession, type Session } from '../session/session.ts';
import { useWho } from '../session/who.ts';
import { SignIn } from '../session/sign-in.tsx';
import { TablesPage } from '../tables/tables-page.tsx';
import { NoticesProvider } from '../ui/notices.tsx';
import { describeError, isTokenRefused } from '../ui/describe-error.ts';
import { Frame } from './frame.tsx';

// The first view needs none of these.
const TablePage = lazy(async () => ({ default: (await import('../grid/table-page.tsx')).TablePage }));
const QueryPage = lazy(async () => ({ default: (await import('../query/query-page.tsx')).QueryPage }));
const OperatorPages = lazy(async () => ({ default: (await import('../operator/operator-pages.tsx')).OperatorPages }));
const ActivityPage = lazy(async () => ({ default: (await import('../activity/activity-page.tsx')).ActivityPage }));

/** The console: a page to sign in, or the pages of a session. */
export function Console(): ReactElement {
  const [session, setSession] = useState(openSession);
  const [reason, setReason] = useState<string | null>(null);
  const begin = useCallback((begun: Session) => {
    keepSession(begun);
    setSession(begun);
  }, []);
  const end = useCallback((why: string | null) => {
    endSession();
    setReason(why);
    setSession(null);
  }, []);
  useEffect(() => {
    const follow = (): void => {
      const linked = openLinkedSession();
      if (linked !== null) setSession(linked);
    };
    const leaving = new AbortController();
    // The first of them to come, and before the router hears it, which would leave the token in the history.
    for (const event of ['popstate', 'hashchange']) addEventListener(event, follow, { capture: true, signal: leaving.signal });
    return () => leaving.abort();
  }, []);
  return session === null ? <SignIn reason={reason} onSession={begin} /> : <Pages key={session.token} token={session.token} onEnd={end} />;
}

function Pages({ token, onEnd }: { readonly token: string; readonly onEnd: (reason: string | null) => void }): ReactElement {
  const queries = useMemo(() => new QueryClient({
    // The client tries again by itself.
    defaultOptions: { queries: { retry: false, staleTime: 1000 } },
    queryCache: new QueryCache({
      onError: (error) => {
        if (isTokenRefused(error)) onEnd(describeError(error));
      },
    }),
  }), [onEnd]);
  const session = useMemo(() => ({ tablog: openService(token), token, signOut: () => onEnd(null) }), [token, onEnd]);
  return (
    <SessionContext value={session}>
      <QueryClientProvider client={queries}>
        <NoticesProvider>
          <Router hook={useHashLocation}>
            <ImportProvider>
              <Frame>
                <Suspense fallback={<p className="waiting">Loading …</p>}>
                  <PagesOfToken />
                </Suspense>
              </Frame>
            </ImportProvider>
          </Router>
        </NoticesProvider>
      </QueryClientProvider>
    </SessionContext>
  );
}

/** An operator sees teams and the log; a team its tables. */
function PagesOfToken(): ReactElement {
  const { who, error } = useWho();
  if (error !== null) return <div className="page"><p className="problem" role="alert">{describeError(error)}</p></div>;
  if (who === undefined) return <p className="waiting">Loading …</p>;
  if (who.kind === 'operator') return <OperatorPages />;
  return (
    <Switch>
      <Route path="/"><TablesPage /></Route>
      <Route path="/tables/:tableID">{({ tableID }) => <TablePage key={tableID} tableID={tableID} />}</Route>
      <Route path="/query/*?"><QueryPage /></Route>
      <Route path="/activity"><ActivityPage /></Route>
      <Route><Redirect to="/" /></Route>
    </Switch>
  );
}
