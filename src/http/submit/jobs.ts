/**
 * Jobs: the state of requests whose clients do not wait, on every process that serves requests (ARCHITECTURE.md, "Words"). A
 * job is stored only in its ID; its state comes from the log and the read model.
 */
import type { OutcomeQueries } from '../../../projections/engine/outcomes/outcomes.queries.ts';
import { outcomeLife } from '../../../projections/engine/outcomes/recorded-outcome.ts';
import type { SecretKeys } from '../../security/secret-keys.ts';
import type { AppliedResult, Outcome } from '../../events/outcome.ts';
import { parseJobId, requestTagOf, type Job } from '../../security/job-id.ts';
import type { EventLog } from '../../log/event-log.ts';
import { HttpError } from '../answers/http-error.ts';
import { keyReusedMessage, notAfterDelay } from './submitter.ts';

/** How long a job can be queried, in milliseconds of log time (docs/spec/decisions.md 3). */
const jobLife = outcomeLife;

/**
 * How long after `notAfter` a job without an outcome counts as failed, in milliseconds. This process's log clock may be ahead, and
 * a record may be in replication: "nothing happened" must be true, and there is no hurry.
 */
const settleDelay = 60_000;

/** Of a job whose request had no effect, and never will have one. */
export const lostMessage = 'The request did not reach the log in time: nothing was changed.';

export type JobState =
  | { readonly status: 'running' }
  | { readonly status: 'succeeded'; readonly result: AppliedResult }
  | { readonly status: 'failed'; readonly message: string };

export interface JobsOptions {
  readonly log: Pick<EventLog, 'now' | 'bounds' | 'status'>;
  readonly outcomes: OutcomeQueries;
  readonly keys: SecretKeys;
}

export class Jobs {
  readonly #options: JobsOptions;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /**
   * Null for an ID that this team never got, or got too long ago, or whose outcome is forgotten. Throws HttpError while the log is
   * away.
   */
  async find(teamId: string, jobId: string): Promise<{ readonly job: Job; readonly state: JobState } | null> {
    const { log, keys } = this.#options;
    const job = parseJobId(keys, jobId);
    if (job === null || job.teamId !== teamId || log.now() - (job.notAfter - notAfterDelay) > jobLife) return null;
    const state = await this.#stateOf(job);
    return state && { job, state };
  }

  /** How many events of the job's partition are yet to be projected, as far as this process knows. */
  eventsAhead({ partition }: Job): number {
    return this.#options.log.status().kafka?.lag[partition] ?? 0;
  }

  async #stateOf(job: Job): Promise<JobState | null> {
    const { log, outcomes } = this.#options;
    const { teamId, partition, commandId, notAfter } = job;
    const tried = { at: notAfter - notAfterDelay, notAfter };
    const { outcome, held } = await outcomes.find(partition, commandId, tried);
    if (outcome !== null) return settled(job, outcome);
    if (held.since.has(teamId) || log.now() <= notAfter + settleDelay) return { status: 'running' };
    // Records written behind this end are too late. Once everything before it is projected and not held, no outcome can follow.
    const end = await this.#endOf(partition);
    const then = await outcomes.find(partition, commandId, tried);
    if (then.outcome !== null) return settled(job, then.outcome);
    return then.held.since.has(teamId) || then.next < end ? { status: 'running' } : { status: 'failed', message: lostMessage };
  }

  async #endOf(partition: number): Promise<bigint> {
    try {
      return (await this.#options.log.bounds(partition)).end;
    } catch (error) {
      throw new HttpError('service_unavailable', 'The log cannot be asked what became of the job.', {}, { cause: error });
    }
  }
}

function settled({ requestTag }: Job, outcome: Outcome | 'forgotten'): JobState | null {
  if (outcome === 'forgotten') return null;
  // Two requests under one key are one command: the outcome of the first says nothing about the second.
  if (requestTag !== requestTagOf(outcome.requestDigest ?? null)) return { status: 'failed', message: keyReusedMessage };
  if (outcome.status === 'refused') return { status: 'failed', message: outcome.refusal.message };
  return { status: 'succeeded', result: outcome.result };
}
