import type { ReactElement } from 'react';

export function ActivityPage(): ReactElement {
  return <div className="page"><h1>Activity</h1></div>;
}
