import type { ReactElement } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { LogPage } from './log-page.tsx';
import { TeamPage } from './team-page.tsx';
import { TeamsPage } from './teams-page.tsx';
import { OperatorTokensPage } from './tokens.tsx';

/** The pages of an operator. */
export function OperatorPages(): ReactElement {
  return (
    <Switch>
      <Route path="/">
        <TeamsPage />
      </Route>
      <Route path="/teams/:teamID">{({ teamID }) => <TeamPage key={teamID} teamID={teamID} />}</Route>
      <Route path="/log">
        <LogPage />
      </Route>
      <Route path="/tokens">
        <OperatorTokensPage />
      </Route>
      <Route>
        <Redirect to="/" />
      </Route>
    </Switch>
  );
}
