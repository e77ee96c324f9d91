import { useEffect, useRef, useState } from 'react';
import type { Preview } from '../../../clients/file-import/preview.ts';
import { describeError } from '../ui/describe-error.ts';
import { ImportFailed, previewFile } from './import-worker.ts';
import type { Failure, Reading } from './messages.ts';

interface Previewed {
  /** The contents of the file; null while nothing is known. */
  readonly data: Preview | null;
  /** Why the file cannot be read with these choices. */
  readonly failure: Failure | null;
  /** Whether `data` belongs to earlier choices. */
  readonly isStale: boolean;
}

/** Delay for further input while the person types, in milliseconds. */
const pauseMs = 150;

/**
 * The contents of a file with these choices. While they are being read, the earlier contents stay, so that the person
 * can take the choice back. Null: the choices are invalid.
 */
export function usePreview(file: File, reading: Omit<Reading, 'file'> | null): Previewed {
  const [previewed, setPreviewed] = useState<Previewed>({ data: null, failure: null, isStale: true });
  const isFirst = useRef(true);
  const key = JSON.stringify(reading);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    setPreviewed(({ data }) => ({ data, failure: null, isStale: true }));
    if (reading === null) return;
    const show = (change: (before: Previewed) => Previewed): void => {
      if (!signal.aborted) setPreviewed(change);
    };
    const timer = setTimeout(
      () => {
        isFirst.current = false;
        previewFile({ file, ...reading }, signal).then(
          (data) => show(() => ({ data, failure: null, isStale: false })),
          (error: unknown) =>
            show(({ data }) => ({
              data,
              failure:
                error instanceof ImportFailed
                  ? error.failure
                  : { line: null, text: describeError(error), isCanceled: false },
              isStale: true,
            })),
        );
      },
      isFirst.current ? 0 : pauseMs,
    );
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [file, key]);
  return previewed;
}
