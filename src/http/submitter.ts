/**
 * From a command to its outcome: the event is appended, and the answer waits for what becomes of this command
 * (ARCHITECTURE.md, "Invariants").
 */
import { createHash, randomUUIDv7, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { SecretKeys } from '../database/secret-keys.ts';
import { encodeEvent, RecordTooLarge, type PackedBody } from '../events/event-codec.ts';
import type { EventData } from '../events/event.ts';
import type { AppliedResult, Outcome } from '../events/outcome.ts';
import { formatJobId } from '../job-id.ts';
import { AppendUnknown, NotAppended } from '../log/event-log.ts';
import type { EventLog } from '../log/event-log.ts';
import { partitionOf } from '../log/partition.ts';
import { HttpError } from './http-error.ts';
import { readIdempotencyKey } from './idempotency.ts';

/** For how long after it was made an event may take effect, in milliseconds of log time (decisions 1). */
const notAfterDelay = 60_000;

/** Who asks for a command, and how it is told from others. */
export interface RequestIdentity {
  readonly commandId: string;
  /** With an Idempotency-Key: takes in the body, and in the end tells this request from others under the same key. */
  readonly digest: Hash | null;
}

/** What a command came to. */
export interface Applied {
  readonly result: AppliedResult;
  /** The version for the answer's ETag; 0 where there is none. */
  readonly etag: bigint;
}

/** The identity of a request: made anew, or, with an Idempotency-Key, the same for each try (decisions 1 and 6). */
export function identify(request: FastifyRequest): RequestIdentity {
  const key = readIdempotencyKey(request);
  if (key === undefined) return { commandId: randomUUIDv7(), digest: null };
  const { method, url, headers } = request.raw;
  const path = url!.split('?', 1)[0]!;
  const hash = createHash('sha256').update(JSON.stringify([request.principal.teamId, method, path, key])).digest('hex');
  const commandId = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-${hash.slice(12, 16)}-${hash.slice(16, 20)}-${hash.slice(20, 32)}`;
  const digest = createHash('sha256').update(
    JSON.stringify([url, headers['content-type'], headers['if-match'], headers['x-service-asynchronous']]),
  );
  return { commandId, digest };
}

/** How commands get from requests to the log, and what became of them back. */
export class Submitter {
  readonly #log: EventLog;
  readonly #keys: SecretKeys;
  /** What tells a request that waits that nobody waits any longer. */
  readonly #waiting = new Set<() => void>();

  constructor(log: EventLog, keys: SecretKeys) {
    this.#log = log;
    this.#keys = keys;
  }

  /**
   * Appends a command's event and gives what it came to. Throws HttpError when it is refused, or when what becomes of it is
   * not known in time, and NotAppended, which is certain, when it never will be appended.
   */
  async submit(
    teamId: string,
    { commandId, digest }: RequestIdentity,
    data: EventData,
    body?: PackedBody,
  ): Promise<Applied> {
    const requestDigest = digest === null ? null : digest.digest('base64url');
    const notAfter = this.#log.now() + notAfterDelay;
    const partition = partitionOf(teamId, this.#log.partitions);
    const event = encode({ commandId, notAfter, requestDigest }, data, body);
    let outcome: Outcome;
    try {
      outcome = await this.#untilGivenUp(this.#log.append(partition, event));
    } catch (error) {
      if (!(error instanceof AppendUnknown)) throw error;
      throw outcomeUnknown(formatJobId(this.#keys, { teamId, partition, commandId, notAfter }), error);
    }
    if (requestDigest !== null && outcome.requestDigest !== requestDigest) {
      throw new HttpError('idempotency_key_reused', 'Idempotency-Key: it was used for another request.');
    }
    if (outcome.status === 'refused') throw new HttpError(outcome.refusal.type, outcome.refusal.message);
    return { result: outcome.result, etag: outcome.etag ?? 0n };
  }

  /**
   * Appends a part of a request that takes effect with a later event only. Throws NotAppended, for the whole request, also
   * when what becomes of the part is not known: the later event will not be appended.
   */
  async submitPart(teamId: string, data: EventData, body: PackedBody): Promise<void> {
    try {
      await this.submit(teamId, { commandId: randomUUIDv7(), digest: null }, data, body);
    } catch (error) {
      if (!(error instanceof HttpError) || error.type !== 'outcome_unknown') throw error;
      throw new NotAppended('a part of the request could not be recorded in time', { cause: error });
    }
  }

  /** Answers all that wait: what becomes of them is not known, and how it can be asked for. */
  giveUp(): void {
    for (const giveUp of this.#waiting) giveUp();
  }

  /** Rejects with AppendUnknown when `giveUp` comes first. */
  #untilGivenUp(appended: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new AppendUnknown('the service is stopping'));
      this.#waiting.add(giveUp);
      appended.then(resolve, reject).finally(() => this.#waiting.delete(giveUp));
    });
  }
}

function outcomeUnknown(jobId: string, cause: Error): HttpError {
  const message = 'Nobody could tell in time whether the request took effect.';
  return new HttpError('outcome_unknown', message, { 'job-id': jobId }, { cause });
}

function encode(...args: Parameters<typeof encodeEvent>): ReturnType<typeof encodeEvent> {
  try {
    return encodeEvent(...args);
  } catch (error) {
    if (!(error instanceof RecordTooLarge)) throw error;
    throw new HttpError('limit_exceeded', 'The request names too many columns, or too long ones, to be recorded.');
  }
}
