import type { ReactElement, ReactNode } from 'react';
import { formatByteSize } from '../../../src/language/byte-size.ts';
import { showBytes, showNumber } from '../ui/format.ts';
import { namesOfQuotas } from './names.ts';
import { List } from '../ui/list.tsx';

interface QuotaLineProps {
  readonly name: string;
  readonly title?: string;
  readonly quota: { readonly used: number; readonly max: number | null };
}

/** A line of a table: how much is used, and the limit. */
export function QuotaLine({
  name,
  title = namesOfQuotas[name] ?? name,
  quota: { used, max },
}: QuotaLineProps): ReactElement {
  // Show a limit with all its digits, as it was set.
  const [show, showLimit] = /bytes/i.test(name) ? [showBytes, formatByteSize] : [showNumber, showNumber];
  return (
    <tr>
      <th scope="row">{title}</th>
      <td className="number">{show(used)}</td>
      <td className="number">{max === null ? 'no limit' : showLimit(max)}</td>
      <td className="wide">
        {max !== null && (
          <meter aria-label={`Share of ${title}`} min={0} max={Math.max(1, max)} high={0.9 * max} value={used} />
        )}
      </td>
    </tr>
  );
}

/** The quotas of a team; `children`: their lines. */
export function QuotaList({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <List
      label="Quotas"
      headings={[
        'Quota',
        { title: 'Used', className: 'number' },
        { title: 'Allowed', className: 'number' },
        { title: <span className="unseen">Share</span>, className: 'wide' },
      ]}
    >
      {children}
    </List>
  );
}
