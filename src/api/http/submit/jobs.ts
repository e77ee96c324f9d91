/**
 * Jobs: the state of requests whose clients do not wait. Every process that serves requests knows all jobs. A job is
 * stored only in its ID; its state comes from the log and the read model.
 */
import type { OutcomeQueries, TryOutcome } from '../../../log/outcomes/outcomes.queries.ts';
import { outcomeLife } from '../../../log/outcomes/recorded-outcome.ts';
import type { SecretKeys } from '../../../storage/security/secret-keys.ts';
import type { AppliedResult } from '../../../language/events/outcome.ts';
import type { JobNote, JobNotes } from '../../jobs/job-notes.ts';
import { parseJobId, requestTagOf, type Job } from '../../../storage/security/job-id.ts';
import type { EventLog } from '../../../log/event-log.ts';
import { HttpError } from '../answers/http-error.ts';
import { keyReusedMessage, notAfterDelay } from './submitter.ts';

/** How long a job can be queried, in milliseconds of log time (docs/spec/decisions.md 3). */
const jobLife = outcomeLife;

/**
 * How long after `notAfter` a job without an outcome counts as failed, in milliseconds. The clock of this process may
 * be ahead of the log's, and a record may still be in replication. "It changed nothing" must be true, and there is no
 * hurry.
 */
const settleDelay = 60_000;

/** The message of a job whose request has had no effect and can have none any more. */
export const lostMessage = 'The request did not reach the log in time. It changed nothing.';

/** The message of a job whose request ended before it had read the rows of a large table. */
const untriedMessage = 'The request ended before the service had read the rows of the table. It changed nothing.';

export type JobState =
  | { readonly status: 'running' }
  | { readonly status: 'succeeded'; readonly result: AppliedResult }
  | { readonly status: 'failed'; readonly message: string };

/** A job and its state. */
interface FoundJob {
  readonly job: Job;
  readonly state: JobState;
}

/** A job in a list, with its request. `askedAt`: the time of the request, in milliseconds of log time. */
export interface ListedJob extends FoundJob {
  readonly note: JobNote;
  readonly askedAt: number;
}

interface JobsOptions {
  readonly log: Pick<EventLog, 'now' | 'bounds' | 'status'>;
  readonly outcomes: OutcomeQueries;
  readonly keys: SecretKeys;
  readonly notes: Pick<JobNotes, 'list'>;
}

export class Jobs {
  readonly #options: JobsOptions;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /**
   * Null if this team never got this ID, or got it too long ago, or if the outcome is forgotten. Throws HttpError while
   * the log cannot be reached.
   */
  async find(teamId: string, jobId: string): Promise<FoundJob | null> {
    const job = this.place(teamId, jobId);
    if (job === null || this.#options.log.now() - (job.notAfter - notAfterDelay) > jobLife) return null;
    const [state] = await this.#statesOf([job]);
    return state! && { job, state };
  }

  /** The job of an ID that this team got; otherwise null. */
  place(teamId: string, jobId: string): Job | null {
    const job = parseJobId(this.#options.keys, jobId);
    return job?.teamId === teamId ? job : null;
  }

  /**
   * The team's jobs, newest first, and the ID after which the next page begins; null at the end. `appId`: only jobs of
   * tokens of this app; null: all. Jobs whose outcome is forgotten are left out. Throws HttpError while the log cannot
   * be reached.
   */
  async list(
    teamId: string,
    {
      appId,
      after,
      limit,
    }: {
      readonly appId: string | null;
      readonly after: Job | null;
      readonly limit: number;
    },
  ): Promise<{ readonly jobs: readonly ListedJob[]; readonly next: string | null }> {
    const { log, notes } = this.#options;
    const found = await notes.list({
      teamId,
      appId,
      since: log.now() - jobLife + notAfterDelay,
      before: after,
      limit: limit + 1,
    });
    const page = found.slice(0, limit);
    // A job whose signing key is gone is unknown.
    const listed = page.flatMap((note) => {
      const job = this.place(teamId, note.jobId);
      return job === null ? [] : [{ note, job, askedAt: job.notAfter - notAfterDelay }];
    });
    const states = await this.#statesOf(listed.map(({ job }) => job));
    const jobs = listed.flatMap((one, at) => (states[at] === null ? [] : [{ ...one, state: states[at]! }]));
    return { jobs, next: found.length > limit ? page.at(-1)!.jobId : null };
  }

  /**
   * How many events of the job's partition are not projected yet, as far as this process knows. Some may come after the
   * event of the job, whose place a job does not know.
   */
  eventsAhead({ partition }: Job): number {
    return this.#options.log.status().kafka?.lag[partition] ?? 0;
  }

  /** The states of jobs of one team; null if the outcome is forgotten. */
  async #statesOf(jobs: readonly Job[]): Promise<(JobState | null)[]> {
    const [first] = jobs;
    if (first === undefined) return [];
    const { log, outcomes } = this.#options;
    const { teamId, partition } = first;
    const find = (some: readonly Job[]) =>
      outcomes.findAll(
        partition,
        some.map(({ commandId, notAfter }) => ({ commandId, at: notAfter - notAfterDelay, notAfter })),
      );
    const found = await find(jobs);
    const states = jobs.map((job, at): JobState | null => settled(job, found.outcomes[at]!));
    const now = log.now();
    const late = jobs.flatMap(({ notAfter }, at) =>
      found.outcomes[at] === null && now > notAfter + settleDelay ? [at] : [],
    );
    if (late.length === 0 || found.held.since.has(teamId)) return states;
    // Records that are written after this end are too late. Once everything before it is projected and not held, no
    // outcome can follow.
    const end = await this.#endOf(partition);
    const then = await find(late.map((at) => jobs[at]!));
    const isOver = !then.held.since.has(teamId) && then.next >= end;
    for (const [n, at] of late.entries()) {
      const outcome = then.outcomes[n]!;
      states[at] =
        outcome === null && isOver ? { status: 'failed', message: lostMessage } : settled(jobs[at]!, outcome);
    }
    return states;
  }

  async #endOf(partition: number): Promise<bigint> {
    try {
      return (await this.#options.log.bounds(partition)).end;
    } catch (error) {
      throw new HttpError(
        'service_unavailable',
        'The service cannot reach the log to look up the job.',
        {},
        { cause: error },
      );
    }
  }
}

/** The state of a job with this outcome; null if the outcome is forgotten. */
function settled({ requestTag }: Job, outcome: TryOutcome): JobState | null {
  if (outcome === null) return { status: 'running' };
  if (outcome === 'forgotten') return null;
  // Two requests with the same key are one command, so the outcome of the first says nothing about the second.
  if (requestTag !== requestTagOf(outcome.requestDigest ?? null))
    return { status: 'failed', message: keyReusedMessage };
  if (outcome.status === 'refused') return { status: 'failed', message: outcome.refusal.message };
  if (outcome.result.untried === true) return { status: 'failed', message: untriedMessage };
  return { status: 'succeeded', result: outcome.result };
}
