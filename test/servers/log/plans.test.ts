/**
 * Plans at their edge: of writers that together ask for more than there is room for, exactly those pass that fit,
 * however they are batched.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../commands/plans.ts';
import { createTeam } from '../../../commands/teams.ts';
import { readConfig } from '../../../src/app/config.ts';
import { encodeEvent, packBody } from '../../../src/language/events/event-codec.ts';
import type { Outcome } from '../../../src/language/events/outcome.ts';
import type { EventLog } from '../../../src/log/event-log.ts';
import { noLogObserver } from '../../../src/log/log-observer.ts';
import { partitionCount, partitionOf } from '../../../src/log/partition.ts';
import { openLog } from '../../../src/app/open-log.ts';
import { verify } from '../../../src/operations/replay/verify.ts';
import { add, completeUpload, create, createUpload, few, noRows, type Request } from '../../support/requests.ts';
import { createLog } from '../../support/deployment-kind.ts';
import { useReadModel } from '../../support/read-model.ts';

const { url, database, closers } = useReadModel(partitionCount, 'file');
let log: EventLog;

beforeAll(async () => {
  const home = await createLog();
  closers.push(() => home.drop());
  log = await openLog(readConfig({ ...home.environment, DATABASE_URL: url() }), database(), {
    logger: pino({ level: 'silent' }),
    projects: true,
    observer: noLogObserver,
    signal: new AbortController().signal,
  });
  closers.push(() => log.close());
  await log.caughtUp();
});

/** A team with a plan of 5 rows and 10 bytes, an empty table, and two uploads of which nothing has arrived. */
class PlannedTeam {
  readonly #teamId = randomUUID();
  readonly #tableId = randomUUID();
  readonly #uploadIds = [randomUUID(), randomUUID()] as const;

  async make(): Promise<void> {
    const { data } = create(noRows, { schema: 'a:number' });
    const facts = [createTeam(this.#teamId, 'planned'), setPlan(this.#teamId, { rowsMax: 5, uploadBytesMax: 10 })];
    const uploads = this.#uploadIds.map((uploadId) => createUpload({ teamId: this.#teamId, uploadId }));
    for (const request of [
      ...facts.map((fact) => ({ data: fact })),
      { data: { ...data, tableId: this.#tableId } } as Request,
      ...uploads,
    ]) {
      expect(await this.#append(request)).toBe('applied');
    }
  }

  /** Adds so many rows. */
  async add(rows: number): Promise<string> {
    const { data, body } = add(few(...Array.from({ length: rows }, (_, at) => `{"a":${at}}`)));
    return this.#append({ data: { ...data, tableId: this.#tableId } as Request['data'], body });
  }

  /** Completes one of the two uploads with a file of so many bytes. */
  async complete(upload: 0 | 1, size: number): Promise<string> {
    return this.#append(completeUpload({ uploadId: this.#uploadIds[upload], name: randomUUID(), size }));
  }

  /** The rows and bytes that count to its plan. */
  async used(): Promise<[rows: number, bytes: number]> {
    const { rows } = await database().pool.query('select rows, upload_bytes from teams where id = $1', [this.#teamId]);
    return [Number(rows[0].rows), Number(rows[0].upload_bytes)];
  }

  async #append({ data, body: bytes = Buffer.of() }: Request): Promise<string> {
    const body = await packBody(bytes);
    const envelope = { commandId: randomUUID(), notAfter: null, requestDigest: null };
    const event = encodeEvent(envelope, { ...data, teamId: this.#teamId } as Request['data'], body);
    const outcome = (await log.append(partitionOf(this.#teamId, partitionCount), event)) as Outcome;
    return outcome.status === 'applied' ? 'applied' : outcome.refusal.type;
  }
}

async function newTeam(): Promise<PlannedTeam> {
  const team = new PlannedTeam();
  await team.make();
  return team;
}

type Writer = (team: PlannedTeam) => Promise<string>;

const applied = 'applied';
const refused = 'payment_required';

describe.each<[string, (writers: readonly Writer[], team: PlannedTeam) => Promise<string[]>]>([
  [
    'one after the other',
    async (writers, team) => {
      const outcomes: string[] = [];
      for (const write of writers) outcomes.push(await write(team));
      return outcomes;
    },
  ],
  ['all at once', (writers, team) => Promise.all(writers.map((write) => write(team)))],
])('%s', (_name, run) => {
  test.each<[string, readonly Writer[], outcomes: string[], used: [rows: number, bytes: number]]>([
    [
      'of two files that are too much together the first fits',
      [(team) => team.complete(0, 6), (team) => team.complete(1, 6)],
      [applied, refused],
      [0, 6],
    ],
    [
      'two files fit that are no more than there is room for',
      [(team) => team.complete(0, 6), (team) => team.complete(1, 4)],
      [applied, applied],
      [0, 10],
    ],
    [
      'of rows that are too much together the first fit',
      [(team) => team.add(3), (team) => team.add(3)],
      [applied, refused],
      [3, 0],
    ],
    [
      'rows fit that are no more than there is room for',
      [(team) => team.add(3), (team) => team.add(2)],
      [applied, applied],
      [5, 0],
    ],
    [
      'rows and files have each their own limit',
      [
        (team) => team.add(3),
        (team) => team.complete(0, 6),
        (team) => team.add(3),
        (team) => team.complete(1, 6),
        (team) => team.add(2),
      ],
      [applied, applied, refused, refused, applied],
      [5, 6],
    ],
    [
      'a file counts once, however often it is completed',
      [1, 2, 3].map(() => (team) => team.complete(0, 6)),
      [applied, applied, applied],
      [0, 6],
    ],
  ])('the plan holds: %s', async (_case, writers, outcomes, used) => {
    const team = await newTeam();
    expect(await run(writers, team)).toEqual(outcomes);
    expect(await team.used()).toEqual(used);
  });
});

test.each([1, 2, 3, 500])('a replay in batches of %d decides the same', async (batchEvents) => {
  const { differences, counts } = await verify({
    url: url(),
    log,
    batchEvents,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  expect(differences).toEqual([]);
  expect(counts).toMatchObject({ tables: 12 });
});
