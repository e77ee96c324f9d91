/** What every log does, whatever holds it. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../commands/plans.ts';
import { createTeam } from '../../../commands/teams.ts';
import { readConfig, type Config } from '../../../src/app/config.ts';
import { decodeEvent, encodeEvent, packBody, type PackedBody } from '../../../src/language/events/event-codec.ts';
import type { EncodedEvent, EventData } from '../../../src/language/events/event.ts';
import { filePath } from '../../../src/storage/files/file-name.ts';
import { newFileName } from '../../../src/storage/files/new-file-name.ts';
import { readPatchRow } from '../../../src/language/formats/read-patch-row.ts';
import { NotAppended, type EventLog } from '../../../src/log/event-log.ts';
import { noLogObserver } from '../../../src/log/log-observer.ts';
import { partitionCount, partitionOf } from '../../../src/log/partition.ts';
import { openLog, openRecordLog } from '../../../src/app/open-log.ts';
import { createLog } from '../../support/deployment-kind.ts';
import { useReadModel } from '../../support/read-model.ts';

const { url, database, closers } = useReadModel(partitionCount, 'file');
let config: Config;
let log: EventLog;

async function open(settings: Config, projects = true): Promise<EventLog> {
  const opened = await openLog(settings, database(), {
    logger: pino({ level: 'silent' }),
    projects,
    observer: noLogObserver,
    signal: new AbortController().signal,
  });
  await opened.caughtUp();
  return opened;
}

beforeAll(async () => {
  const home = await createLog();
  closers.push(() => home.drop());
  config = readConfig({ ...home.environment, DATABASE_URL: url() });
  log = await open(config);
  closers.push(() => log.close());
});

interface Made {
  readonly event: EncodedEvent;
  readonly partition: number;
}

interface Given {
  readonly commandId?: string;
  readonly notAfter?: number | null;
  readonly body?: PackedBody;
}

function make(
  data: EventData & { readonly teamId: string },
  { commandId = randomUUID(), notAfter = null, body }: Given = {},
): Made {
  return {
    event: encodeEvent({ commandId, notAfter, requestDigest: null }, data, body),
    partition: partitionOf(data.teamId, partitionCount),
  };
}

const append = ({ partition, event }: Made, to: EventLog = log): ReturnType<EventLog['append']> =>
  to.append(partition, event);

/** The commands of a partition, in the log's order. */
async function commandsOf(partition: number): Promise<string[]> {
  const { start, end } = await log.bounds(partition);
  const commands: string[] = [];
  for await (const records of log.read(partition, start, end)) {
    commands.push(...records.map(({ bytes }) => decodeEvent(bytes).commandId));
  }
  return commands;
}

test('an append gives what became of it, and stands in the log behind those before it', async () => {
  const teamId = randomUUID();
  const made = [
    make(createTeam(teamId, 'a')),
    make(setPlan(teamId, { rowsMax: 5 })),
    make(setPlan(teamId, { rowsMax: 7 })),
  ];
  for (const one of made) expect(await append(one)).toMatchObject({ status: 'applied' });
  const commands = await commandsOf(made[0]!.partition);
  expect(commands.slice(-3)).toEqual(made.map(({ event }) => event.commandId));
});

test('appends of many at once each have their outcome, and keep their order', async () => {
  const teamId = randomUUID();
  const made = Array.from({ length: 1200 }, (_, at) =>
    make(at === 0 ? createTeam(teamId, 'many') : setPlan(teamId, { rowsMax: at })),
  );
  const outcomes = await Promise.all(made.map((one) => append(one)));
  expect(outcomes.every(({ status }) => status === 'applied')).toBe(true);
  expect((await commandsOf(made[0]!.partition)).slice(-1200)).toEqual(made.map(({ event }) => event.commandId));
  const { rows } = await database().pool.query('select rows_max from teams where id = $1', [teamId]);
  expect(rows[0].rows_max).toBe('1199');
});

test('offsets have no gaps, times never fall, and a log begins with the event that names it', async () => {
  const names = new Set<string>();
  for (let partition = 0; partition < log.partitions; partition += 1) {
    const { start, end } = await log.bounds(partition);
    expect(start).toBe(0n);
    let [next, time] = [0n, 0];
    for await (const records of log.read(partition, 0n, end)) {
      for (const record of records) {
        expect(record.offset).toBe(next);
        expect(record.time).toBeGreaterThanOrEqual(time);
        if (next === 0n) names.add((decodeEvent(record.bytes).data as { logId: string }).logId);
        [next, time] = [next + 1n, record.time];
      }
    }
    expect(next).toBe(end);
  }
  expect(names.size).toBe(1);
});

test('a part of a partition can be read', async () => {
  const teamId = randomUUID();
  const { partition } = make(createTeam(teamId, 'part'));
  for (let at = 0; at < 5; at += 1) await append(make(createTeam(teamId, 'part')));
  const { end } = await log.bounds(partition);
  const offsets: bigint[] = [];
  for await (const records of log.read(partition, end - 4n, end - 1n))
    offsets.push(...records.map(({ offset }) => offset));
  expect(offsets).toEqual([end - 4n, end - 3n, end - 2n]);
});

test('a command that is appended twice has the first outcome, and one effect', async () => {
  const teamId = randomUUID();
  await append(make(createTeam(teamId, 'twice')));
  const once = make(setPlan(teamId, { rowsMax: 5 }));
  const first = await append(once);
  await append(make(setPlan(teamId, { rowsMax: 7 })));
  expect(await append(once)).toEqual(first);
  const { rows } = await database().pool.query('select rows_max from teams where id = $1', [teamId]);
  expect(rows[0].rows_max).toBe('7');
});

test('one command that is appended twice at once has one effect', async () => {
  const teamId = randomUUID();
  const once = make(createTeam(teamId, 'at once'));
  const [first, second] = await Promise.all([append(once), append(once)]);
  expect(second).toEqual(first);
});

test('one command that two processes append at once has one outcome in both', async () => {
  // Where one projects, the other hears of its outcomes.
  const other = await open(config, false);
  try {
    for (let n = 0; n < 50; n += 1) {
      const once = make(createTeam(randomUUID(), 'in two processes'), { notAfter: log.now() + 60_000 });
      const [here, there] = await Promise.all([append(once), append(once, other)]);
      expect(here).toMatchObject({ status: 'applied' });
      expect(there).toEqual(here);
    }
  } finally {
    await other.close();
  }
});

test('an event that reaches the log after its time has no effect, and a later one of the same command has', async () => {
  const teamId = randomUUID();
  const commandId = randomUUID();
  await expect(append(make(createTeam(teamId, 'late'), { commandId, notAfter: 1 }))).rejects.toThrow(NotAppended);
  expect(await append(make(createTeam(teamId, 'in time'), { commandId, notAfter: log.now() + 60_000 }))).toMatchObject({
    status: 'applied',
  });
  const { rows } = await database().pool.query('select name from teams where id = $1', [teamId]);
  expect(rows).toEqual([{ name: 'in time' }]);
});

test('whether rows name a file is decided by what stands before the look, also by what was appended together with it', async () => {
  const teamId = randomUUID();
  await append(make(createTeam(teamId, 'files')));
  const uploads = Array.from({ length: 20 }, () => ({ id: randomUUID(), name: newFileName() }));
  const made = await Promise.all(
    uploads.map(async ({ id, name }, at) => {
      const look = make({ type: 'UploadChecked', teamId, uploadId: id });
      const naming = await tableNaming(teamId, name);
      const limits = { sizeMax: 10, lifeMs: 60_000, unclaimedLifeMs: 0 };
      return [
        make({
          type: 'UploadCreateRequested',
          teamId,
          uploadId: id,
          appId: 'app',
          contentType: 'image/png',
          fileName: 'a.png',
          limits,
        }),
        make({ type: 'UploadCompleteRequested', teamId, uploadId: id, appId: 'app', file: { name, size: 1 } }),
        ...(at % 2 === 0 ? [naming, look] : [look, naming]),
      ];
    }),
  );
  const outcomes = await Promise.all(made.flat().map((one) => append(one)));
  expect(outcomes.every(({ status }) => status === 'applied')).toBe(true);
  const { rows } = await database().pool.query(
    'select id, unclaimed_since, removed_at from uploads where team_id = $1',
    [teamId],
  );
  const stateOf = new Map(
    rows.map((row) => [row.id, { claimed: row.unclaimed_since === null, there: row.removed_at === null }]),
  );
  expect(uploads.map(({ id }) => stateOf.get(id))).toEqual(
    uploads.map((_, at) => ({ claimed: at % 2 === 0, there: at % 2 === 0 })),
  );
});

/** A table with a row that names a file. */
async function tableNaming(teamId: string, file: string): Promise<Made> {
  const {
    block: { profile, body },
  } = readPatchRow(Buffer.from(`{"a":"https://files.example${filePath(file, 'a.png')}"}`));
  return make(
    {
      type: 'TableCreateRequested',
      teamId,
      tableId: randomUUID(),
      name: 'table',
      columns: null,
      onSchemaError: 'updateSchema',
      appsToLink: null,
      limits: { rowsPerTableMax: 10, columnsMax: 10, rowBytesMax: 1000 },
      rows: { kind: 'few', profile },
    },
    { body: await packBody(body) },
  );
}

test('a reader of its own reads the same', async () => {
  const reader = await openRecordLog(config, config.DATABASE_URL!, pino({ level: 'silent' }));
  try {
    for (let partition = 0; partition < log.partitions; partition += 1) {
      expect(await reader.bounds(partition)).toEqual(await log.bounds(partition));
      const { end } = await reader.bounds(partition);
      const read = async (from: Pick<EventLog, 'read'>): Promise<string[]> => {
        const texts: string[] = [];
        for await (const records of from.read(partition, 0n, end)) {
          texts.push(
            ...records.map(({ offset, time, bytes }) => `${offset} ${time} ${Buffer.from(bytes).toString('hex')}`),
          );
        }
        return texts;
      };
      expect(await read(reader)).toEqual(await read(log));
    }
  } finally {
    await reader.close();
  }
});

describe('bounds', () => {
  test.each([
    ['events', { APPEND_QUEUE_EVENTS_MAX: 10 }],
    ['bytes', { APPEND_QUEUE_BYTES_MAX: 2000 }],
  ])('past so many %s that wait it refuses, and what it took in has its outcome', async (_name, bound) => {
    const bounded = await open({ ...config, ...bound, KAFKA_GROUP: `${config.KAFKA_GROUP}-bounded` });
    try {
      const teamId = randomUUID();
      const made = Array.from({ length: 50 }, () => make(createTeam(teamId, 'bounded')));
      const results = await Promise.allSettled(made.map((one) => append(one, bounded)));
      const refused = results.filter((result) => result.status === 'rejected');
      expect(refused.length).toBeGreaterThan(20);
      expect(refused.every(({ reason }) => reason instanceof NotAppended)).toBe(true);
      const applied = made.filter((_, at) => results[at]!.status === 'fulfilled').map(({ event }) => event.commandId);
      expect((await commandsOf(made[0]!.partition)).slice(-applied.length)).toEqual(applied);
    } finally {
      await bounded.close();
    }
  });

  test('a log that is closed takes nothing any more', async () => {
    const closed = await open({ ...config, KAFKA_GROUP: `${config.KAFKA_GROUP}-closed` });
    await closed.close();
    await expect(append(make(createTeam(randomUUID(), 'closed')), closed)).rejects.toThrow(NotAppended);
  });
});

test('a partition whose last record came from a clock that was ahead takes events all the same', async () => {
  const teamId = randomUUID();
  const { partition } = make(createTeam(teamId, 'ahead'));
  await append(make(createTeam(teamId, 'ahead')));
  await log.close();
  const ahead = Date.now() + 600_000;
  await database().pool.query('update progress set time = $2 where partition = $1', [partition, ahead]);
  const { rowCount } = await database().pool.query("select 1 from pg_namespace where nspname = 'tablog_log'");
  if (rowCount === 1)
    await database().pool.query('update tablog_log.heads set time = $2 where partition = $1', [partition, ahead]);
  log = await open(config);
  expect(log.nextTime(partition)).toBeGreaterThanOrEqual(ahead);
  expect(log.nextTime((partition + 1) % partitionCount)).toBeLessThan(ahead);
  for (const rowsMax of [1, 2]) {
    const made = make(setPlan(teamId, { rowsMax }), { notAfter: log.nextTime(partition) + 60_000 });
    expect(await append(made)).toMatchObject({ status: 'applied' });
  }
});
