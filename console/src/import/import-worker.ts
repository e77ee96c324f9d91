/** Starts workers that read a file, and receives their messages. */
import type { Preview } from '../../../clients/file-import/preview.ts';
import type {
  Failure,
  FromWorker,
  ImportOutcome,
  ImportProgress,
  ImportRequest,
  Reading,
  ToWorker,
} from './messages.ts';

/** The file name of the worker, next to this module. `build.ts` inserts it. */
declare const importWorkerFile: string;

/** The error of a file that was not read or imported, with the reason. */
export class ImportFailed extends Error {
  override readonly name = 'ImportFailed';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.text);
    this.failure = failure;
  }
}

interface ImportListeners {
  readonly onProgress: (progress: ImportProgress) => void;
  /**
   * Called with a text to show when an attempt failed because there is no connection or the service is busy, and will
   * be repeated.
   */
  readonly onWaiting: (reason: string) => void;
}

export interface RunningImport {
  /** Rejects with ImportFailed. */
  readonly done: Promise<ImportOutcome>;
  /** Stops the import and deletes the uploaded rows; `done` then rejects. */
  readonly cancel: () => void;
}

/** The contents of a file, by its first rows. Throws ImportFailed. Settles no more once the signal has aborted. */
export function previewFile(reading: Reading, signal: AbortSignal): Promise<Preview> {
  const worker = startWorker({ kind: 'preview', reading });
  signal.addEventListener('abort', () => worker.terminate());
  return answerOf(worker, (message) => (message.kind === 'previewed' ? message.preview : undefined));
}

export function startImport(request: ImportRequest, { onProgress, onWaiting }: ImportListeners): RunningImport {
  const worker = startWorker({ kind: 'import', request });
  const done = answerOf(worker, (message) => {
    if (message.kind === 'progress') onProgress(message.progress);
    if (message.kind === 'waiting') onWaiting(message.reason);
    return message.kind === 'imported' ? message.outcome : undefined;
  });
  return { done, cancel: () => worker.postMessage({ kind: 'cancel' } satisfies ToWorker) };
}

function startWorker(task: ToWorker): Worker {
  const worker = new Worker(new URL(importWorkerFile, import.meta.url), { type: 'module' });
  worker.postMessage(task);
  return worker;
}

/** Waits for the message from which `read` makes an answer, and ends the worker. */
function answerOf<T>(worker: Worker, read: (message: FromWorker) => T | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === 'failed') reject(new ImportFailed(data.failure));
      const answer = read(data);
      if (answer !== undefined) resolve(answer);
    });
    worker.addEventListener('error', (event) => reject(new Error(event.message)));
  }).finally(() => worker.terminate());
}
