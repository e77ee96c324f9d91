/** What has become of a job: decided from its outcome, the log's time, the end of its partition and the progress. */
import { describe, expect, test } from '@jest/globals';
import { parseHeldTeams } from '../../../../../src/log/quarantine/held-teams.ts';
import type { OutcomeQueries, TryOutcome } from '../../../../../src/log/outcomes/outcomes.queries.ts';
import type { SecretKeys } from '../../../../../src/storage/security/secret-keys.ts';
import type { Outcome } from '../../../../../src/language/events/outcome.ts';
import { Jobs } from '../../../../../src/api/http/submit/jobs.ts';
import { formatJobId, requestTagOf, type Job } from '../../../../../src/storage/security/job-id.ts';
import type { EventLog } from '../../../../../src/log/event-log.ts';

const key = { id: 1, bytes: new Uint8Array(32) };
const keys: SecretKeys = { current: key, find: () => key };
const teamId = '01a1ff11-7ce6-7178-9b08-264f4408192e';
const notAfter = 1_000_000_000_000;
const job: Job = {
  teamId,
  partition: 3,
  commandId: '01a1ff11-9ca3-73f0-bd62-0247538cabdc',
  notAfter,
  rows: 5,
  requestTag: 0n,
};
const minute = 60_000;
const week = 7 * 24 * 60 * minute;
const applied: Outcome = { status: 'applied', result: { rows: [] }, etag: 7n };
const refused: Outcome = { status: 'refused', refusal: { type: 'table_not_found', message: 'there is no such table' } };
const lost = { status: 'failed', message: 'The request did not reach the log in time. It changed nothing.' };
const running = { status: 'running' };
const succeeded = { status: 'succeeded', result: { rows: [] } };

interface Given {
  /** The log's time, in milliseconds after `notAfter`. */
  readonly after?: number;
  /** What is found when Postgres is asked for the first time, and for the second. */
  readonly outcome?: TryOutcome;
  readonly outcomeLater?: TryOutcome;
  readonly progress?: bigint;
  /** The teams in quarantine, as they are stored, when Postgres is asked for the first time, and for the second. */
  readonly held?: string;
  readonly heldLater?: string;
  /** Null: the log cannot be asked. */
  readonly end?: bigint | null;
  readonly job?: Partial<Job>;
  readonly asker?: string;
}

function find({
  after = 0,
  outcome = null,
  outcomeLater = outcome,
  progress = 10n,
  held = '{}',
  heldLater = held,
  end = 10n,
  job: changes = {},
  asker = teamId,
}: Given) {
  const answers = [
    { outcome, held: parseHeldTeams(held) },
    { outcome: outcomeLater, held: parseHeldTeams(heldLater) },
  ];
  const jobs = new Jobs({
    keys,
    log: {
      now: () => notAfter + after,
      bounds: () => (end === null ? Promise.reject(new Error('away')) : Promise.resolve({ start: 0n, end })),
    } as unknown as EventLog,
    outcomes: {
      findAll: async () => {
        const { outcome: first, held } = answers.shift()!;
        return { next: progress, held, outcomes: [first] };
      },
    } as unknown as OutcomeQueries,
    notes: { list: () => Promise.reject(new Error('not asked')) },
  });
  return jobs.find(asker, formatJobId(keys, { ...job, ...changes }));
}

describe('a job', () => {
  test.each<[string, Given, unknown]>([
    ['that has just begun is running', { after: -minute }, running],
    ['is running while its event may still take effect', { after: 0, progress: 10n }, running],
    ['is running while a clock may be wrong by so much', { after: minute }, running],
    ['whose time is over, and all was projected, has failed', { after: minute + 1 }, lost],
    [
      'whose time is over is running while there is something to be projected',
      { after: minute + 1, progress: 9n },
      running,
    ],
    ['whose time is over has failed when the projection is past it', { after: minute + 1, progress: 11n }, lost],
    ['whose time is over is running while its team is held', { after: minute + 1, held: `{"${teamId}":1}` }, running],
    ['whose team was held meanwhile is running', { after: minute + 1, heldLater: `{"${teamId}":1}` }, running],
    ['whose time is over has failed while another team is held', { after: minute + 1, held: '{"other":1}' }, lost],
    [
      'that has its outcome has it while its team is held',
      { after: minute + 1, held: `{"${teamId}":1}`, outcome: applied },
      succeeded,
    ],
    ['has succeeded', { after: -minute, outcome: applied }, succeeded],
    [
      'that was refused has failed, for that reason',
      { outcome: refused },
      { status: 'failed', message: 'there is no such table' },
    ],
    ['has succeeded for as long as it is known', { after: week - minute, outcome: applied }, succeeded],
    ['that succeeded while the log was asked has succeeded', { after: minute + 1, outcomeLater: applied }, succeeded],
    ['has its outcome also while the log is away', { after: minute + 1, outcome: applied, end: null }, succeeded],
    [
      'under a key that another request had first has failed',
      { outcome: applied, job: { requestTag: 9n } },
      { status: 'failed', message: 'Idempotency-Key: this key was used for another request. Use a new key.' },
    ],
    [
      'under a key has the outcome of its request',
      {
        outcome: { ...applied, requestDigest: 'AAAAAAAAAAkrest' },
        job: { requestTag: requestTagOf('AAAAAAAAAAkrest') },
      },
      succeeded,
    ],
  ])('a job %s', async (_name, given, state) => expect((await find(given))?.state).toEqual(state));

  test('is what its ID says', async () =>
    expect((await find({ job: { rows: null } }))?.job).toEqual({ ...job, rows: null }));

  test.each<[string, Given]>([
    ['of another team', { outcome: applied, asker: '01a1ff11-7ce6-7178-9b08-264f4408192f' }],
    ['whose outcome another has replaced', { outcome: 'forgotten' }],
    ['whose outcome is replaced while the log is asked', { after: minute + 1, outcomeLater: 'forgotten' }],
    ['that is too old', { outcome: applied, after: week - minute + 1 }],
  ])('%s is none', async (_name, given) => expect(await find(given)).toBeNull());

  test('a job whose state cannot be looked up is answered with service_unavailable', async () => {
    await expect(find({ after: minute + 1, end: null })).rejects.toMatchObject({ type: 'service_unavailable' });
  });
});
