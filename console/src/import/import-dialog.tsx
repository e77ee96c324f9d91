import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { serviceUrl, useSession } from '../session/service.ts';
import { describeError } from '../ui/describe-error.ts';
import { Dialog } from '../ui/dialog.tsx';
import { useNotices } from '../ui/notices.tsx';
import { ImportFailed, startImport, type RunningImport } from './import-worker.ts';
import { ImportForm, type Wanted } from './import-form.tsx';
import { ImportRunning, type Running } from './import-running.tsx';
import { ImportSummary } from './import-summary.tsx';
import type { Failure, ImportOutcome } from './messages.ts';

interface ImportDialogProps {
  readonly file: File;
  /** The table on the screen; null if there is none. */
  readonly tableID: string | null;
  readonly onClose: () => void;
}

interface Finished {
  readonly outcome: ImportOutcome;
  readonly name: string;
  readonly ms: number;
}

/** Imports a file: asks how to read it, shows the progress, then the result. */
export function ImportDialog({ file, tableID, onClose }: ImportDialogProps): ReactElement {
  const { token } = useSession();
  const queries = useQueryClient();
  const notices = useNotices();
  const current = useRef<RunningImport>(null);
  const [running, setRunning] = useState<Running | null>(null);
  const [finished, setFinished] = useState<Finished | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const isRunning = running !== null;

  useEffect(() => {
    if (!isRunning) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [isRunning]);

  // The session may end while the import runs.
  useEffect(() => () => current.current?.cancel(), []);

  async function run({ name, ...request }: Wanted): Promise<void> {
    const startedAt = performance.now();
    const change = (changes: Partial<Running>): void =>
      setRunning((before) => ({ startedAt, progress: { rows: 0, bytes: 0 }, waiting: null, ...before, ...changes }));
    setFailure(null);
    change({});
    const started = startImport(
      { ...request, file, url: serviceUrl, token },
      {
        onProgress: (progress) => change({ progress, waiting: null }),
        onWaiting: (waiting) => change({ waiting }),
      },
    );
    current.current = started;
    try {
      const outcome = await started.done;
      setFinished({ outcome, name, ms: performance.now() - startedAt });
    } catch (error) {
      const why =
        error instanceof ImportFailed ? error.failure : { line: null, text: describeError(error), isCanceled: false };
      if (why.isCanceled) {
        notices.say('The import was canceled. No rows were imported.');
        onClose();
      } else {
        setFailure(why);
      }
    } finally {
      current.current = null;
      setRunning(null);
      await queries.invalidateQueries();
    }
  }

  function close(): void {
    current.current?.cancel();
    onClose();
  }

  return (
    <Dialog title={`Import ${file.name}`} className="import" onClose={close} isBusy={isRunning}>
      {finished !== null ? (
        <ImportSummary {...finished} onClose={close} />
      ) : (
        <>
          {isRunning && <ImportRunning {...running} size={file.size} onCancel={() => current.current?.cancel()} />}
          <div hidden={isRunning}>
            <ImportForm
              file={file}
              tableID={tableID}
              failure={failure}
              onImport={(wanted) => void run(wanted)}
              onClose={close}
            />
          </div>
        </>
      )}
    </Dialog>
  );
}
