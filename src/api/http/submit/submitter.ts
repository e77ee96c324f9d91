/** Submits commands: appends their events and waits for their outcomes (ARCHITECTURE.md, "Invariants"). */
import { randomUUIDv7 } from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import type { OutcomeQueries } from '../../../log/outcomes/outcomes.queries.ts';
import type { SecretKeys } from '../../../storage/security/secret-keys.ts';
import { encodeEvent, RecordTooLarge, type PackedBody } from '../../../language/events/event-codec.ts';
import { endedBody, namedBy, stashOf } from '../../../language/events/event-names.ts';
import type { EventData } from '../../../language/events/event.ts';
import { stashIdIn } from '../../../language/events/stash-name.ts';
import { countRowsOf, type AppliedResult, type Outcome } from '../../../language/events/outcome.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { formatJobId, requestTagOf, type Job } from '../../../storage/security/job-id.ts';
import { AppendError, AppendUnknown, NotAppended } from '../../../log/event-log.ts';
import type { EventLog } from '../../../log/event-log.ts';
import { partitionOf } from '../../../log/partition.ts';
import { isUnavailable } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import type { JobNote, JobNotes } from '../../jobs/job-notes.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import { tableBytesOf, takesNoRoom } from '../../usage/disk-share.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import type { Shares } from '../limits/shares.ts';
import type { RequestIdentity } from './request-identity.ts';
import { TurnedAway, type Submission } from './turned-away.ts';
import { cancelablePause, Waiting } from './waiting.ts';

/** How long after its creation an event may take effect, in milliseconds of log time (docs/spec/decisions.md 1). */
export const notAfterDelay = 60_000;

/** When to send a request with an Idempotency-Key again after a quota has turned it away, in seconds. */
const turnedAwayRetryAfter = '10';

export const keyReusedMessage = 'Idempotency-Key: this key was used for another request. Use a new key.';

/** The job of a request, and its entry for the list of jobs; null if it has none. */
interface RequestJob extends Job {
  readonly about: Pick<JobNote, 'operation' | 'appId' | 'tableId' | 'stashId'> | null;
}

/** The result of a command that was applied. */
export interface Applied {
  readonly result: AppliedResult;
  /** The version for the answer's ETag; 0 if there is none. */
  readonly etag: bigint;
  /** Finds the same result later. */
  readonly job: RequestJob;
}

/** A job through which the client gets the outcome of a command. */
interface Accepted {
  readonly jobId: string;
}

/** A command in flight. */
interface Sent {
  /** Rejects with HttpError when the command is refused, with NotAppended when it has no effect. */
  readonly applied: Promise<Applied>;
  readonly job: RequestJob;
}

interface SubmitterOptions {
  /** Shares the writes that may wait for their outcomes among teams. */
  readonly shares: Pick<Shares, 'writes' | 'writeUnitsMin'>;
  /**
   * Counts the bytes that teams append to the log and take on disks in a day. Refuses writes beyond their quota or
   * share. Absent: there is no such quota.
   */
  readonly logBytes?: Pick<LogBytes, 'refusalOf' | 'refusalOfShare' | 'add'>;
  /** Records the jobs whose IDs clients get. Absent: jobs are not listed. */
  readonly jobNotes?: Pick<JobNotes, 'add'>;
  /** Finds the outcome of an earlier try of a request that is refused before the append. */
  readonly outcomes: Pick<OutcomeQueries, 'find'>;
  /** How long a command that may become a job waits for its outcome, in milliseconds. */
  readonly asyncWaitMs: number;
  /** Traces appends of requests; absent: they are not traced. */
  readonly tracing?: Pick<Tracing, 'beginAppend'> | null;
  /** Called with the rows of each write that has taken effect. */
  readonly onApplied?: (teamId: string, rows: number) => void;
  /** Called with each refusal. */
  readonly onRefused?: (refusal: Refusal) => void;
  /** Logs failures for which no client waits. */
  readonly logger: Pick<FastifyBaseLogger, 'warn' | 'error'>;
}

/** Submits commands of requests to the log, and returns their results. */
export class Submitter {
  readonly #log: EventLog;
  readonly #keys: SecretKeys;
  readonly #options: SubmitterOptions;
  readonly #waiting = new Waiting();

  constructor(log: EventLog, keys: SecretKeys, options: SubmitterOptions) {
    this.#log = log;
    this.#keys = keys;
    this.#options = options;
  }

  /**
   * Appends the event of a command and resolves with its result. A `RequestRefused` is appended only if the request has
   * an Idempotency-Key, so that a later try gets the same answer; an earlier outcome comes before it. A request that is
   * turned away is never appended; it gets the outcome of an earlier try. `rows`: how many rows the command affects,
   * for its job. Throws HttpError if the command is refused, or if its outcome is not known in time. Throws NotAppended
   * if this try certainly has no effect.
   */
  async submit(
    teamId: string,
    identity: RequestIdentity,
    data: Submission,
    body?: PackedBody,
    rows: number | null = rowsOf(data),
  ): Promise<Applied> {
    if (data.type === 'RequestRefused' && identity.digest === null) {
      this.#options.onRefused?.(data.refusal);
      throw new HttpError(data.refusal.type, data.refusal.message);
    }
    const { applied, job } = await this.#send(teamId, identity, data, body, rows);
    try {
      return await this.#waiting.until(applied);
    } catch (error) {
      if (!(error instanceof AppendUnknown)) throw error;
      throw outcomeUnknown(
        this.#tellOf(job),
        'The request may or may not take effect: repeat it with the same Idempotency-Key, or get the job.',
        error,
      );
    }
  }

  /**
   * Like `submit`, but resolves with a job if the outcome does not arrive within a short wait, or is unknown. If such a
   * job gets no outcome, the process logs that.
   */
  async submitOrAccept(
    teamId: string,
    identity: RequestIdentity,
    data: Submission,
    body?: PackedBody,
    rows: number | null = rowsOf(data),
  ): Promise<Applied | Accepted> {
    const { applied, job } = await this.#send(teamId, identity, data, body, rows);
    const waited = cancelablePause(this.#options.asyncWaitMs);
    try {
      const first = await this.#waiting.until(Promise.race([applied, waited.over]));
      if (first !== 'over') return first;
    } catch (error) {
      if (!(error instanceof AppendUnknown)) throw error;
    } finally {
      waited.end();
    }
    const accepted = { jobId: this.#tellOf(job) };
    applied.catch((error: unknown) => this.#tellOfFailure(error, job, accepted));
    return accepted;
  }

  /**
   * The result of an earlier try of a request, for requests that are costly to submit again. Null if none is recorded,
   * or if the request has no Idempotency-Key. Throws HttpError if the earlier try was refused.
   */
  async findEarlier(teamId: string, { commandId, digest }: RequestIdentity): Promise<Applied | null> {
    if (digest === null) return null;
    const requestDigest = digest.digest('base64url');
    const job = { ...this.#tryOf(teamId, commandId, requestDigest), rows: null, about: null };
    const outcome = await this.#recordedOutcome(job);
    return outcome === null ? null : toApplied(outcome, requestDigest, job);
  }

  /**
   * Appends a part of a request. The part takes effect only with a later event. Throws NotAppended for the whole
   * request even if the outcome of the part is unknown, because the later event is then not appended. Throws TurnedAway
   * if a quota refuses the part, which says nothing about earlier tries of the request.
   */
  async submitPart(teamId: string, data: EventData, body?: PackedBody): Promise<void> {
    try {
      await this.submit(teamId, { commandId: randomUUIDv7(), digest: null }, data, body);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      if (error.type === 'limit_exceeded' || error.type === 'payment_required')
        throw new TurnedAway(error.type, error.message, error.headers, { cause: error });
      if (error.type !== 'outcome_unknown') throw error;
      throw new NotAppended('a part of the request could not be recorded in time', { cause: error });
    }
  }

  /**
   * Builds the answer to a command that was applied. If the answer needs something that cannot be read now, throws
   * HttpError `outcome_unknown` with the job, from which the client gets the result. (`service_unavailable` would
   * promise that nothing has changed.)
   */
  async answering<T>({ result, job }: Applied, build: (result: AppliedResult) => Promise<T>): Promise<T> {
    try {
      return await build(result);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      throw outcomeUnknown(
        this.#tellOf(job),
        'The request took effect, but the service cannot build its answer now: get the job, or repeat the request with the same Idempotency-Key.',
        error as Error,
      );
    }
  }

  /** Ends the waiting of all requests. Each gets the answer `outcome_unknown` with its job. */
  giveUp(): void {
    this.#waiting.giveUp();
  }

  /**
   * Rejects with HttpError if the event is too large, if its team has too many waiting events, or if its team has
   * appended too much today.
   */
  async #send(
    teamId: string,
    { commandId, digest, about, turnedAway }: RequestIdentity,
    data: Submission,
    body: PackedBody | undefined,
    rows: number | null,
  ): Promise<Sent> {
    const requestDigest = digest === null ? null : digest.digest('base64url');
    const tried = this.#tryOf(teamId, commandId, requestDigest);
    const { partition, notAfter } = tried;
    const job = {
      ...tried,
      rows,
      about:
        about === undefined || data instanceof TurnedAway
          ? null
          : { ...about, ...namesIn(data, requestDigest !== null) },
    };
    const {
      logBytes,
      shares: { writes, writeUnitsMin },
    } = this.#options;
    const submission = data instanceof TurnedAway ? data : (turnedAway?.() ?? this.#exceededBy(teamId, data) ?? data);
    if (submission instanceof TurnedAway) {
      const earlier = await this.#outcomeOfEarlierTry(job, requestDigest, submission);
      return { applied: Promise.resolve(toApplied(earlier, requestDigest, job)), job };
    }
    const span = this.#options.tracing?.beginAppend(partition, submission.type) ?? null;
    const event = encode({ commandId, notAfter, requestDigest }, submission, body, span?.context);
    const share = await writes.take(teamId, Math.max(event.size, writeUnitsMin));
    const appended = this.#log.append(partition, event).finally(() => share.release());
    if (span !== null)
      void appended.then(
        () => span.end(),
        (error: unknown) => span.end(error),
      );
    const taken = { log: event.size, tables: tableBytesOf(submission, event.size) };
    const applied = appended
      .catch((error: unknown) => {
        if (!(error instanceof NotAppended)) logBytes?.add(teamId, taken);
        throw error;
      })
      .then((outcome) => {
        logBytes?.add(teamId, taken);
        if (outcome.status === 'refused') this.#options.onRefused?.(outcome.refusal);
        else this.#options.onApplied?.(teamId, rows ?? countRowsOf(outcome.result.rows ?? []));
        return toApplied(outcome, requestDigest, job);
      });
    return { applied, job };
  }

  /** A try of a command, made now. */
  #tryOf(teamId: string, commandId: string, requestDigest: string | null): Omit<Job, 'rows'> {
    const partition = partitionOf(teamId, this.#log.partitions);
    const notAfter = this.#log.nextTime(partition) + notAfterDelay;
    return { teamId, partition, commandId, notAfter, requestTag: requestTagOf(requestDigest) };
  }

  /** The ID of a job for its client. Also adds the job to the list of jobs. */
  #tellOf(job: RequestJob): string {
    const jobId = formatJobId(this.#keys, job);
    const { teamId, notAfter, commandId, about } = job;
    if (about !== null) this.#options.jobNotes?.add({ teamId, notAfter, commandId, jobId, ...about });
    return jobId;
  }

  /**
   * Why a write is turned away: its team has appended too much today, or takes too much of a disk. Null: it may
   * continue.
   */
  #exceededBy(teamId: string, data: EventData): TurnedAway | null {
    const { logBytes, onRefused } = this.#options;
    if (logBytes === undefined || !beginsWrite(data)) return null;
    const refusal =
      logBytes.refusalOf(teamId) ?? (takesNoRoom(data) ? null : logBytes.refusalOfShare(teamId, 'tables'));
    if (refusal === null) return null;
    onRefused?.(refusal);
    return new TurnedAway(refusal.type, refusal.message);
  }

  /**
   * The outcome of an earlier try of a request that is turned away. Without an Idempotency-Key there can be none:
   * throws the reason. If no outcome is recorded, throws HttpError `outcome_unknown` with a job, because until
   * `notAfter` an earlier try may be on its way to the log, through any process.
   */
  async #outcomeOfEarlierTry(job: Job, requestDigest: string | null, away: TurnedAway): Promise<Outcome> {
    if (requestDigest === null) throw away;
    const outcome = await this.#recordedOutcome(job);
    if (outcome !== null) return outcome;
    const message =
      `${away.message.replace(/\.?$/, '.')} An earlier try with the same Idempotency-Key may still take effect: ` +
      'send the request again, or get the job.';
    const headers = {
      'tablog-turned-away': away.type,
      'job-id': formatJobId(this.#keys, job),
      'retry-after': away.headers['retry-after'] ?? turnedAwayRetryAfter,
    };
    throw new HttpError('outcome_unknown', message, headers, { cause: away });
  }

  /** The outcome of an earlier try of a command, as far as it is recorded and still counts; else null. */
  async #recordedOutcome({ partition, commandId, notAfter }: Job): Promise<Outcome | null> {
    const { outcome } = await this.#options.outcomes.find(partition, commandId, {
      at: notAfter - notAfterDelay,
      notAfter,
    });
    return outcome === 'forgotten' ? null : outcome;
  }

  /** Logs why a job has no outcome. Refusals are not logged, because the job reports them. */
  #tellOfFailure(error: unknown, { teamId, partition, commandId }: Job, { jobId }: Accepted): void {
    if (error instanceof HttpError) return;
    const { offset } = error instanceof AppendError ? error.place : {};
    const details = { teamId, partition, offset: offset?.toString(), commandId, jobId, err: error };
    const isExpected = error instanceof NotAppended || error instanceof AppendUnknown;
    this.#options.logger[isExpected ? 'warn' : 'error'](details, 'a request that was answered with 202 has no outcome');
  }
}

/** Throws HttpError for a refusal, and for the outcome of another request with the same key. */
function toApplied(outcome: Outcome, requestDigest: string | null, job: RequestJob): Applied {
  if (requestDigest !== null && outcome.requestDigest !== requestDigest) {
    throw new HttpError('idempotency_key_reused', keyReusedMessage);
  }
  if (outcome.status === 'refused') throw new HttpError(outcome.refusal.type, outcome.refusal.message);
  return { result: outcome.result, etag: outcome.etag ?? 0n, job };
}

/**
 * The stash of an event, by the client's name for it, and the table that the event creates. With a key, the first try
 * in the log names that table, so it is left out.
 */
function namesIn(data: EventData, hasKey: boolean): { readonly stashId: string | null; readonly tableId?: string } {
  const [stash, created] = [stashOf(data), namedBy(data, 'newTable')];
  return {
    stashId: stash === null ? null : stashIdIn(stash),
    ...(created !== null && !hasKey ? { tableId: created } : {}),
  };
}

/** Whether this event is the first of a write. The later events of a body are always accepted. */
function beginsWrite(data: EventData): boolean {
  return data.type !== 'BlockReceived' && endedBody(data) === null;
}

/** How many rows a command affects, for commands that name at most one row. */
function rowsOf(data: Submission): number {
  return 'row' in data ? 1 : 0;
}

function outcomeUnknown(jobId: string, message: string, cause: Error): HttpError {
  return new HttpError('outcome_unknown', message, { 'job-id': jobId }, { cause });
}

function encode(...args: Parameters<typeof encodeEvent>): ReturnType<typeof encodeEvent> {
  try {
    return encodeEvent(...args);
  } catch (error) {
    if (!(error instanceof RecordTooLarge)) throw error;
    throw new HttpError(
      'limit_exceeded',
      args[1].type === 'TableBatchRequested'
        ? 'operations: they and their rows are too large to be recorded together. Send them in several batches.'
        : args[1].type === 'RowsAddRequested' && args[1].mode === 'upsert'
          ? 'rows: they are too large to be recorded together. Send them in several requests.'
          : 'The request names too many columns, or too long ones, to be recorded.',
    );
  }
}
