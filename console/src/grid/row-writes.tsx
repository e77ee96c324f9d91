/** Writes to several rows at once, and the question that comes up if somebody else has changed them. */
import { useState, type ReactElement } from 'react';
import type { Table, Version } from '../../../clients/typescript/src/index.ts';
import type { Column } from '../tables/column-types.ts';
import { useNotices } from '../ui/notices.tsx';
import type { Editing } from './editing.ts';
import { keepingTheirs, replacingTheirs, writeRows, type Overtaken, type RowWrites } from './guarded-rows.ts';
import { RowConflictsDialog } from './row-conflicts-dialog.tsx';

/** Says what was written, or does more about it. */
type Tell = (written: RowWrites) => string;

interface Question {
  readonly overtaken: Overtaken;
  readonly tell: Tell;
}

/**
 * `onWritten` is called with changed rows and their new version; `onEnd` after each write that took effect, and if the
 * person wants to see the rows as they are now.
 */
export function useRowWrites(
  table: Table,
  columns: readonly Column[],
  editing: Editing,
  {
    onWritten,
    onEnd,
  }: { readonly onWritten: (written: RowWrites, version: Version) => void; readonly onEnd: () => void },
): {
  /** Writes all of this or nothing, and reports the outcome. Never rejects. */
  readonly write: (writes: RowWrites, tell: Tell) => Promise<void>;
  /** The question to the person; null if there is none. */
  readonly question: ReactElement | null;
} {
  const notices = useNotices();
  const [asked, setAsked] = useState<Question | null>(null);

  async function write(writes: RowWrites, tell: Tell): Promise<void> {
    try {
      await editing.during(async () => {
        const outcome = await writeRows(table, writes);
        if ('overtaken' in outcome) {
          setAsked({ overtaken: outcome.overtaken, tell });
          return;
        }
        if (outcome.version !== null) onWritten(outcome.written, outcome.version);
        notices.say(tell(outcome.written));
        onEnd();
      });
    } catch (error) {
      notices.fail(error);
    }
  }

  function answer({ tell }: Question, writes: RowWrites | null): void {
    setAsked(null);
    if (writes === null || writes.changes.length + writes.added.length === 0) onEnd();
    else void write(writes, tell);
  }

  return {
    write,
    question: asked && (
      <RowConflictsDialog
        overtaken={asked.overtaken}
        columns={columns}
        onCancel={() => answer(asked, null)}
        onTheirs={() => answer(asked, keepingTheirs(asked.overtaken))}
        onMine={() => answer(asked, replacingTheirs(asked.overtaken))}
      />
    ),
  };
}
