import type { ReactElement } from 'react';

export function QueryPage(): ReactElement {
  return <div className="page"><h1>Query</h1></div>;
}
