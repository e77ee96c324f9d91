import { useEffect, useState } from 'react';
import type { Preview } from '../../../clients/file-import/preview.ts';
import { describeError } from '../ui/describe-error.ts';
import { ImportFailed, previewFile } from './import-worker.ts';
import type { Failure, Reading } from './messages.ts';

interface Previewed {
  readonly data: Preview | null;
  readonly failure: Failure | null;
}

const nothing: Previewed = { data: null, failure: null };

/** What a file holds if it is read so; nothing until that is known. */
export function usePreview(file: File, { format, delimiter, encoding, onSchemaError }: Omit<Reading, 'file'>): Previewed {
  const [previewed, setPreviewed] = useState(nothing);
  useEffect(() => {
    const leaving = new AbortController();
    setPreviewed(nothing);
    const show = (shown: Previewed): void => {
      if (!leaving.signal.aborted) setPreviewed(shown);
    };
    previewFile({ file, format, delimiter, encoding, onSchemaError }, leaving.signal).then(
      (data) => show({ data, failure: null }),
      (error: unknown) => show({ data: null, failure: error instanceof ImportFailed ? error.failure : { line: null, text: describeError(error), isCanceled: false } }),
    );
    return () => leaving.abort();
  }, [file, format, delimiter, encoding, onSchemaError]);
  return previewed;
}
