/** Commands whose outcome comes soon, late, or never; for clients that permit a job for an answer, and for others. */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { TryOutcome } from '../../../../../src/log/outcomes/outcomes.queries.ts';
import type { HeldTeams } from '../../../../../src/log/quarantine/held-teams.ts';
import type { SecretKeys } from '../../../../../src/storage/security/secret-keys.ts';
import type { EncodedEvent, EventData } from '../../../../../src/language/events/event.ts';
import type { Outcome } from '../../../../../src/language/events/outcome.ts';
import { openShares } from '../../../../../src/api/http/limits/shares.ts';
import { Submitter } from '../../../../../src/api/http/submit/submitter.ts';
import type { JobNote } from '../../../../../src/api/jobs/job-notes.ts';
import { parseJobId } from '../../../../../src/storage/security/job-id.ts';
import { StoreAway } from '../../../../../src/storage/files/file-store.ts';
import { AppendUnknown, NotAppended, ProjectionBug, type EventLog } from '../../../../../src/log/event-log.ts';

const key = { id: 1, bytes: new Uint8Array(32) };
const keys: SecretKeys = { current: key, find: () => key };
const teamId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const commandId = '01a1ff11-9ca3-73f0-bd62-0247538cabdc';
const identity = { commandId, digest: null };
const now = 1_000_000_000_000;
const event: EventData = {
  type: 'RowDeleteRequested',
  teamId,
  tableId: 'table',
  row: { version: 1n, ordinal: 0, index: 0 },
  ifMatch: null,
};
const applied: Outcome = { status: 'applied', result: {}, etag: 7n };
const refused: Outcome = { status: 'refused', refusal: { type: 'table_not_found', message: 'there is no such table' } };
const hour = 3_600_000;

/** Rejections that nobody handles, which would end the process. */
const unhandled: unknown[] = [];
const note = (error: unknown): unknown => unhandled.push(error);
beforeEach(() => {
  process.on('unhandledRejection', note);
});
afterEach(async () => {
  await turns();
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toEqual([]);
});

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const shares = openShares(
  {
    OUTCOME_WAIT_MS: 1000,
    RESPONSE_BYTES_MAX: 1e6,
    APPEND_QUEUE_EVENTS_MAX: 1000,
    APPEND_QUEUE_BYTES_MAX: 1e6,
    CONNECTIONS_MAX: 100,
  },
  () => undefined,
);

/** A submitter on a log that does as the test says, and what it logs. */
function prepare(append: (event: EncodedEvent) => Promise<Outcome>, asyncWaitMs = hour) {
  const lines: { readonly level: string; readonly jobId: string; readonly error: string }[] = [];
  const write =
    (level: string) =>
    (details: unknown): void => {
      const { jobId, err } = details as { jobId: string; err: Error };
      lines.push({ level, jobId, error: err.name });
    };
  const log = {
    partitions: 12,
    nextTime: () => now,
    append: (_: number, given: EncodedEvent) => append(given),
  } as unknown as EventLog;
  const logger = { warn: write('warn'), error: write('error') };
  const noted: JobNote[] = [];
  const jobNotes = { add: (one: JobNote): void => void noted.push(one) };
  const outcomes = { find: async () => Promise.reject(new Error('not asked')) };
  return { submitter: new Submitter(log, keys, { shares, asyncWaitMs, logger, outcomes, jobNotes }), lines, noted };
}

describe('a client that accepts a job is answered', () => {
  test('at once if the outcome comes soon', async () => {
    const { submitter } = prepare(async () => applied);
    expect(await submitter.submitOrAccept(teamId, identity, event)).toMatchObject({ result: {}, etag: 7n });
  });

  test('with a refusal if it comes soon', async () => {
    const { submitter } = prepare(async () => refused);
    await expect(submitter.submitOrAccept(teamId, identity, event)).rejects.toMatchObject({ type: 'table_not_found' });
  });

  test('that nothing was done, if that is known soon, even without any wait', async () => {
    for (const wait of [0, hour]) {
      const { submitter } = prepare(() => Promise.reject(new NotAppended('full')), wait);
      await expect(submitter.submitOrAccept(teamId, identity, event)).rejects.toThrow(NotAppended);
    }
  });

  test.each<[string, number | null]>([
    ['so many rows', 5],
    ['nobody knows how many rows', null],
    ['no rows', 0],
  ])('with a job of %s, when the outcome takes longer', async (_name, rows) => {
    const outcome = Promise.withResolvers<Outcome>();
    const { submitter, lines } = prepare(() => outcome.promise, 0);
    const accepted = await submitter.submitOrAccept(teamId, identity, event, undefined, rows);
    expect(parseJobId(keys, (accepted as { jobId: string }).jobId)).toEqual({
      teamId,
      commandId,
      partition: 0x4408192e % 12,
      notAfter: now + 60_000,
      rows,
      requestTag: 0n,
    });
    outcome.resolve(applied);
    await turns();
    expect(lines).toEqual([]);
  });

  test('with a job that distinguishes its request from others under the same key', async () => {
    const { submitter } = prepare(() => new Promise(() => undefined), 0);
    const jobs = [];
    for (const body of ['one', 'two']) {
      const digest = createHash('sha256').update(body);
      const { jobId } = (await submitter.submitOrAccept(teamId, { commandId, digest }, event)) as { jobId: string };
      jobs.push(parseJobId(keys, jobId)!);
    }
    expect(jobs[0]).toEqual({ ...jobs[1], requestTag: jobs[0]!.requestTag });
    expect(jobs[0]!.requestTag).not.toBe(jobs[1]!.requestTag);
  });

  test('with a job if the outcome is unknown', async () => {
    const { submitter, lines } = prepare(() => Promise.reject(new AppendUnknown('who knows')));
    const { jobId } = (await submitter.submitOrAccept(teamId, identity, event)) as { jobId: string };
    expect(jobId).toMatch(/^[\w-]{92}$/);
    await turns();
    expect(lines).toEqual([{ level: 'warn', jobId, error: 'AppendUnknown' }]);
  });

  test('with a job if the service stops', async () => {
    const { submitter } = prepare(() => new Promise(() => undefined));
    const accepting = submitter.submitOrAccept(teamId, identity, event);
    submitter.giveUp();
    expect(await accepting).toEqual({ jobId: expect.stringMatching(/^[\w-]{92}$/) });
  });
});

describe('the list of jobs has', () => {
  const about = { operation: 'addRows', appId: 'shop', tableId: 'table' };
  const wait = (): Promise<Outcome> => new Promise(() => undefined);
  const noteOf = (jobId: string) => ({ teamId, notAfter: now + 60_000, commandId, jobId, ...about, stashId: null });

  test('requests that were answered 202', async () => {
    const { submitter, noted } = prepare(wait, 0);
    const { jobId } = (await submitter.submitOrAccept(teamId, { ...identity, about }, event)) as { jobId: string };
    expect(noted).toEqual([noteOf(jobId)]);
  });

  test('requests whose outcome is unknown', async () => {
    const { submitter, noted } = prepare(() => Promise.reject(new AppendUnknown('who knows')));
    const error = (await submitter
      .submit(teamId, { ...identity, about }, event)
      .catch((thrown: unknown) => thrown)) as { headers: Record<string, string> };
    expect(noted).toEqual([noteOf(error.headers['job-id']!)]);
  });

  test('neither requests that were answered, nor parts of requests', async () => {
    const answering = prepare(async () => applied);
    await answering.submitter.submitOrAccept(teamId, { ...identity, about }, event);
    const waiting = prepare(wait, 0);
    await waiting.submitter.submitOrAccept(teamId, identity, event);
    expect([...answering.noted, ...waiting.noted]).toEqual([]);
  });
});

describe('a failure after a 202 is logged, and has no other effect', () => {
  test.each([
    ['warn', new NotAppended('full')],
    ['warn', new AppendUnknown('who knows')],
    ['error', new ProjectionBug('a bug')],
    ['error', new TypeError('another bug')],
  ])('a failure after a 202 is logged as %s: %s', async (level, error) => {
    const outcome = Promise.withResolvers<Outcome>();
    const { submitter, lines } = prepare(() => outcome.promise, 0);
    const { jobId } = (await submitter.submitOrAccept(teamId, identity, event)) as { jobId: string };
    outcome.reject(error);
    await turns();
    expect(lines).toEqual([{ level, jobId, error: error.name }]);
  });

  test('a refusal after a 202 is not logged as a failure', async () => {
    const outcome = Promise.withResolvers<Outcome>();
    const { submitter, lines } = prepare(() => outcome.promise, 0);
    await submitter.submitOrAccept(teamId, identity, event);
    outcome.resolve(refused);
    await turns();
    expect(lines).toEqual([]);
  });
});

describe('a client that accepts no job', () => {
  test('waits as long as necessary', async () => {
    const outcome = Promise.withResolvers<Outcome>();
    const { submitter } = prepare(() => outcome.promise, 0);
    const answer = submitter.submit(teamId, identity, event);
    await turns();
    outcome.resolve(applied);
    expect(await answer).toMatchObject({ result: {}, etag: 7n });
  });

  test.each([
    ['nobody knows', (_: Submitter) => Promise.reject(new AppendUnknown('who knows'))],
    ['the service stops', (submitter: Submitter) => new Promise<Outcome>(() => setImmediate(() => submitter.giveUp()))],
  ])('gets the ID of the job if %s', async (_name, append) => {
    const { submitter }: { submitter: Submitter } = prepare(() => append(submitter));
    const error = await submitter.submit(teamId, identity, event).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ type: 'outcome_unknown' });
    expect(parseJobId(keys, (error as { headers: Record<string, string> }).headers['job-id']!)).toMatchObject({
      commandId,
      rows: 1,
    });
  });
});

describe("a request that its team's quota turns away", () => {
  const refusal = {
    type: 'payment_required',
    message: "the team's plan allows 10 bytes of the log today and 12 are in use",
  } as const;
  const digestOf = (body: string) => createHash('sha256').update(body);

  /**
   * A submitter that appends one request, and then has a team beyond its quota; `outcome`: what is recorded of the key.
   */
  function prepareTurningAway() {
    const told = { outcome: null as TryOutcome, appended: 0, isExceeded: false };
    const log = {
      partitions: 12,
      nextTime: () => now,
      append: () => {
        told.appended += 1;
        return new Promise(() => undefined);
      },
    } as unknown as EventLog;
    const logBytes = {
      refusalOf: () => (told.isExceeded ? refusal : null),
      refusalOfShare: () => null,
      add: () => undefined,
    };
    const outcomes = {
      find: async () => ({ next: 0n, held: { since: new Map() } as unknown as HeldTeams, outcome: told.outcome }),
    };
    return {
      submitter: new Submitter(log, keys, {
        shares,
        asyncWaitMs: hour,
        logger: { warn: () => undefined, error: () => undefined },
        outcomes,
        logBytes,
      }),
      told,
    };
  }

  test('is answered with the reason if it has no key', async () => {
    const { submitter, told } = prepareTurningAway();
    told.isExceeded = true;
    await expect(submitter.submit(teamId, identity, event)).rejects.toMatchObject(refusal);
    expect(told.appended).toBe(0);
  });

  test('is never refused for good while the first try under its key may still apply', async () => {
    const { submitter, told } = prepareTurningAway();
    const first = submitter.submit(teamId, { commandId, digest: digestOf('a') }, event);
    await turns();
    told.isExceeded = true;
    const error = await submitter
      .submit(teamId, { commandId, digest: digestOf('a') }, event)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ type: 'outcome_unknown', message: expect.stringContaining(refusal.message) });
    const job = parseJobId(keys, (error as { headers: Record<string, string> }).headers['job-id']!);
    expect(job).toMatchObject({ teamId, commandId, notAfter: now + 60_000 });

    told.outcome = { ...applied, requestDigest: digestOf('a').digest('base64url') };
    expect(await submitter.submit(teamId, { commandId, digest: digestOf('a') }, event)).toMatchObject({ etag: 7n });
    await expect(submitter.submit(teamId, { commandId, digest: digestOf('b') }, event)).rejects.toMatchObject({
      type: 'idempotency_key_reused',
    });
    expect(told.appended).toBe(1);
    submitter.giveUp();
    await expect(first).rejects.toMatchObject({ type: 'outcome_unknown' });
  });
});

describe('the answer to an applied command', () => {
  const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  test.each<[string, Error]>([
    ['Postgres is away', away],
    ['the file store is away', new StoreAway({ cause: away })],
    ['nothing can be appended', new NotAppended('full')],
  ])('cannot be built: never that nothing was changed, but the job, when %s', async (_name, error) => {
    const { submitter } = prepare(async () => applied);
    const submitted = await submitter.submit(teamId, identity, event);
    const thrown = await submitter.answering(submitted, () => Promise.reject(error)).catch((reason: unknown) => reason);
    expect(thrown).toMatchObject({
      type: 'outcome_unknown',
      message:
        'The request took effect, but the service cannot build its answer now: get the job, or repeat the request with the same Idempotency-Key.',
    });
    expect(parseJobId(keys, (thrown as { headers: Record<string, string> }).headers['job-id']!)).toMatchObject({
      teamId,
      commandId,
      rows: 1,
    });
  });

  test('is built', async () => {
    const { submitter } = prepare(async () => applied);
    expect(
      await submitter.answering(await submitter.submit(teamId, identity, event), async (result) => ({ data: result })),
    ).toEqual({ data: {} });
  });

  test('that fails because of a bug is reported as a bug', async () => {
    const { submitter } = prepare(async () => applied);
    const submitted = await submitter.submit(teamId, identity, event);
    await expect(submitter.answering(submitted, () => Promise.reject(new TypeError('a bug')))).rejects.toThrow(
      TypeError,
    );
  });
});
