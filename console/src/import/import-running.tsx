import { useEffect, useState, type ReactElement } from 'react';
import { showBytes, showCount, showDuration, showNumber } from '../ui/format.ts';
import type { ImportProgress } from './messages.ts';

export interface Running {
  /** By `performance.now()`. */
  readonly startedAt: number;
  readonly progress: ImportProgress;
  /** Why the import waits; null while it runs. */
  readonly waiting: string | null;
}

interface ImportRunningProps extends Running {
  /** In bytes. */
  readonly size: number;
  readonly onCancel: () => void;
}

/** Interval between announcements to screen readers, in milliseconds. */
const readOutEveryMs = 5000;

/** The progress of an import. */
export function ImportRunning({
  size,
  startedAt,
  progress: { rows, bytes },
  waiting,
  onCancel,
}: ImportRunningProps): ReactElement {
  const [isCanceling, setCanceling] = useState(false);
  const ms = performance.now() - startedAt;
  const rate = showNumber((rows * 1000) / Math.max(ms, 1));
  const isUploaded = bytes >= size;
  const left = bytes === 0 || isUploaded ? null : showDuration((ms * (size - bytes)) / bytes);
  const state = isCanceling
    ? 'Deleting the uploaded rows …'
    : waiting !== null
      ? waiting
      : isUploaded
        ? 'Importing …'
        : `Uploading${left === null ? ' …' : `, ${left} left`}`;
  const spoken = useEvery(readOutEveryMs, `${showCount(rows, 'row')}. ${state}`);
  return (
    <div className="running">
      <progress aria-label="Progress of the import" max={Math.max(size, 1)} value={isUploaded ? undefined : bytes} />
      <p className="number">
        {showCount(rows, 'row')}, {rate} rows/s, {showBytes(bytes)} of {showBytes(size)}
      </p>
      <p className={waiting === null ? undefined : 'problem'}>{state}</p>
      <p className="unseen" role="status" aria-live="polite">
        {spoken}
      </p>
      <footer>
        <button
          type="button"
          autoFocus
          disabled={isCanceling}
          onClick={() => {
            setCanceling(true);
            onCancel();
          }}
        >
          Cancel the import
        </button>
      </footer>
    </div>
  );
}

/** The text, sampled every `ms` milliseconds. */
function useEvery(ms: number, text: string): string {
  const [shown, setShown] = useState(text);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((before) => before + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
  useEffect(() => setShown(text), [turn]);
  return shown;
}
