import type { ReactElement, ReactNode } from 'react';

/** What went wrong, which screen readers say at once. */
export function Problem({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <p className="problem" role="alert">
      {children}
    </p>
  );
}
