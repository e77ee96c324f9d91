import type { ReactElement, ReactNode } from 'react';

/** The heading of a column. */
interface Heading {
  readonly title: ReactNode;
  /** `number`: aligned as numbers are; `wide`: not shown on narrow screens. */
  readonly className?: string;
}

/** A table of lines, which scrolls if it is wider than the page. */
export function List({
  label,
  headings,
  children,
}: {
  readonly label: string;
  readonly headings: readonly (string | Heading)[];
  /** The lines. */
  readonly children: ReactNode;
}): ReactElement {
  return (
    <div className="scroller" role="region" aria-label={label} tabIndex={0}>
      <table className="list">
        <thead>
          <tr>
            {headings.map((heading, at) => {
              const { title, className } = typeof heading === 'string' ? { title: heading } : heading;
              return (
                <th key={at} scope="col" className={className}>
                  {title}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
