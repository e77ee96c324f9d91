/** Starts workers that read a file, and hears what they say. */
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

/** The name of the worker's file, beside that of this module; `build.ts` puts it here. */
declare const importWorkerFile: string;

/** A file was not read or imported, for this reason. */
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
  /** Called, with a text to show, while there is no connection, or the service is busy: it is tried again. */
  readonly onWaiting: (reason: string) => void;
}

export interface RunningImport {
  /** Throws ImportFailed. */
  readonly done: Promise<ImportOutcome>;
  /** Stops it and deletes what was uploaded; `done` throws then. */
  readonly cancel: () => void;
}

/**
 * What a file holds, by its first rows. Throws ImportFailed; nothing is heard of it any more once the signal has
 * aborted.
 */
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

/** Waits for the message that `read` makes an answer of, and ends the worker. */
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
