import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { Redirect, Route, Router, Switch } from 'wouter';
import { useHashLocation } from 'wouter/use-hash-location';
import { ImportProvider } from '../import/import-provider.tsx';
import { SessionContext, openService } from '../session/service.ts';
import {
  endSession,
  hasEnded,
  keepSession,
  noteEnd,
  openLinkedSession,
  openSession,
  type Session,
} from '../session/session.ts';
import { joinTabs, type Tabs } from '../session/tabs.ts';
import { useWho } from '../session/who.ts';
import { SignIn } from '../session/sign-in.tsx';
import { TablesPage } from '../tables/tables-page.tsx';
import { NoticesProvider } from '../ui/notices.tsx';
import { describeError, isTokenRefused } from '../ui/describe-error.ts';
import { Problem } from '../ui/problem.tsx';
import { Frame } from './frame.tsx';

// Load these only when they are needed: the first view needs none of them.
const TablePage = lazy(async () => ({ default: (await import('../grid/table-page.tsx')).TablePage }));
const QueryPage = lazy(async () => ({ default: (await import('../query/query-page.tsx')).QueryPage }));
const OperatorPages = lazy(async () => ({ default: (await import('../operator/operator-pages.tsx')).OperatorPages }));
const ActivityPage = lazy(async () => ({ default: (await import('../activity/activity-page.tsx')).ActivityPage }));

/**
 * How long a new tab waits for the answer of another tab before it shows the sign-in page, in milliseconds. A later
 * answer still counts.
 */
const answerMs = 300;

/** The console: the page to sign in, or the pages of a session. */
export function Console(): ReactElement {
  const [session, setSession] = useState(openSession);
  const [reason, setReason] = useState<string | null>(null);
  /** Whether another tab may answer soon. */
  const [isAsking, setAsking] = useState(session === null && !hasEnded());
  const token = useRef<string | null>(null);
  token.current = session?.token ?? null;
  const tabs = useRef<Tabs | null>(null);
  const begin = useCallback((begun: Session) => {
    keepSession(begun);
    setSession(begun);
  }, []);
  const end = useCallback((why: string | null) => {
    endSession();
    noteEnd();
    setReason(why);
    setSession(null);
  }, []);
  const signOut = useCallback(() => {
    tabs.current!.tellEnded(token.current!);
    end(null);
  }, [end]);
  useEffect(() => {
    const joined = joinTabs({
      token: () => token.current,
      onSession: (offered) => {
        // Only the first answer counts.
        token.current = offered;
        begin({ token: offered, isKept: false });
      },
      onEnded: () => end(null),
    });
    tabs.current = joined;
    if (isAsking) joined.ask();
    const timer = setTimeout(() => setAsking(false), answerMs);
    return () => {
      clearTimeout(timer);
      joined.leave();
    };
  }, []);
  useEffect(() => {
    const follow = (): void => {
      const linked = openLinkedSession();
      if (linked !== null) setSession(linked);
    };
    const leaving = new AbortController();
    // Listens to whichever event comes first, and before the router, which would leave the token in the history.
    for (const event of ['popstate', 'hashchange'])
      addEventListener(event, follow, { capture: true, signal: leaving.signal });
    return () => leaving.abort();
  }, []);
  if (session !== null) return <Pages key={session.token} token={session.token} onEnd={end} onSignOut={signOut} />;
  return isAsking ? <p className="waiting">Loading …</p> : <SignIn reason={reason} onSession={begin} />;
}

interface PagesProps {
  readonly token: string;
  /** Called when the service refuses the token. */
  readonly onEnd: (reason: string) => void;
  readonly onSignOut: () => void;
}

function Pages({ token, onEnd, onSignOut }: PagesProps): ReactElement {
  const queries = useMemo(
    () =>
      new QueryClient({
        // The client retries by itself.
        defaultOptions: { queries: { retry: false, staleTime: 1000 } },
        queryCache: new QueryCache({
          onError: (error) => {
            if (isTokenRefused(error)) onEnd(describeError(error));
          },
        }),
      }),
    [onEnd],
  );
  const session = useMemo(() => ({ tablog: openService(token), token, signOut: onSignOut }), [token, onSignOut]);
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

/** The pages of the token's owner: for an operator teams and the log, for a team its tables. */
function PagesOfToken(): ReactElement {
  const { who, error } = useWho();
  if (error !== null)
    return (
      <div className="page">
        <Problem>{describeError(error)}</Problem>
      </div>
    );
  if (who === undefined) return <p className="waiting">Loading …</p>;
  if (who.kind === 'operator') return <OperatorPages />;
  return (
    <Switch>
      <Route path="/">
        <TablesPage />
      </Route>
      <Route path="/tables/:tableID">{({ tableID }) => <TablePage key={tableID} tableID={tableID} />}</Route>
      <Route path="/query/*?">
        <QueryPage />
      </Route>
      <Route path="/activity">
        <ActivityPage />
      </Route>
      <Route>
        <Redirect to="/" />
      </Route>
    </Switch>
  );
}
