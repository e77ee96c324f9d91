/** Jobs: work that continues after an answer of 202. */
import { TablogError } from './errors.ts';
import type { components } from './interface.ts';
import { pause } from './pause.ts';
import type { Operations } from './transport.ts';

/** The progress of a job. */
export type JobProgress = components['schemas']['JobProgress'];

/** A job in a list. */
export type ListedJob = components['schemas']['ListedJob'];

/** The pause before the next request, in milliseconds. It grows each time. */
const askAfterMinMs = 50;
const askAfterMaxMs = 1000;

export class Job {
  /** The ID. Every process of the service knows the job, for seven days. */
  readonly id: string;
  readonly #operations: Operations;

  constructor(operations: Operations, id: string) {
    this.#operations = operations;
    this.id = id;
  }

  async progress(): Promise<JobProgress> {
    const { data } = await this.#operations.GET('/jobs/{jobID}/progress', { params: { path: { jobID: this.id } } });
    return data!.data;
  }

  /** Waits until the job is done. Throws TablogError, without a status, if the job fails. */
  async done({
    onProgress,
    signal,
  }: {
    readonly onProgress?: ((progress: JobProgress) => void) | undefined;
    readonly signal?: AbortSignal | undefined;
  } = {}): Promise<JobProgress> {
    for (let ms = askAfterMinMs; ; ms = Math.min(ms * 2, askAfterMaxMs)) {
      const progress = await this.progress();
      onProgress?.(progress);
      if (progress.phase === 'done') return progress;
      if (progress.phase === 'failed') throw await this.#failure();
      await pause(ms, signal);
    }
  }

  async #failure(): Promise<TablogError> {
    const { data } = await this.#operations.GET('/jobs/{jobID}', { params: { path: { jobID: this.id } } });
    const job = data!.data;
    return new TablogError(null, null, job.status === 'failed' ? job.error.message : `The job ${this.id} has failed.`);
  }
}
