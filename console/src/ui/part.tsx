import type { ReactElement, ReactNode } from 'react';
import { describeError, isErrorOfType } from './describe-error.ts';
import { Problem } from './problem.tsx';

/** A part of the page. It can be refused or missing without the others. */
export function Part<T>({
  title,
  query,
  children,
}: {
  readonly title: string;
  readonly query: { readonly data: T | undefined; readonly error: Error | null };
  readonly children: (data: T) => ReactNode;
}): ReactElement | null {
  // A token of an app sees only parts of the app.
  if (isErrorOfType(query.error, 'forbidden')) return null;
  return (
    <section>
      <h2>{title}</h2>
      {query.error !== null && <Problem>{describeError(query.error)}</Problem>}
      {query.data !== undefined && children(query.data)}
    </section>
  );
}
