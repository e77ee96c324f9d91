/** With the log in Postgres: the answer to a commit is lost while the team of its event is in quarantine. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../../commands/plans.ts';
import { createTeam } from '../../../../commands/teams.ts';
import { PostgresLog } from '../../../../src/log/postgres/postgres-log.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { beginQuarantine } from '../../../../src/log/quarantine/quarantine.store.ts';
import { models } from '../../../../projections/models.ts';
import { inTransaction } from '../../../../src/storage/database/transaction.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { AppendUnknown, NotAppended } from '../../../../src/log/event-log.ts';
import { noLogObserver } from '../../../../src/log/log-observer.ts';
import { partitionCount, partitionOf } from '../../../../src/log/partition.ts';
import { appendRecord } from '../../../../src/log/postgres/append-record.ts';
import { interceptWriters } from '../../../support/intercepted-writers.ts';
import { useReadModel } from '../../../support/read-model.ts';

const { database } = useReadModel(partitionCount, 'file');
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const closer of closers.splice(0).toReversed()) await closer();
});

const encode = (data: EventData): ReturnType<typeof encodeEvent> =>
  encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data);

/** Puts a team into quarantine, as another process does that meets an event that cannot be projected. */
async function hold(teamId: string, partition: number): Promise<void> {
  const { bytes } = encode(setPlan(teamId, { rowsMax: 1 }));
  await inTransaction(database().pool, async (client) => {
    await appendRecord(client, partition, bytes);
    const {
      rows: [progress],
    } = await client.query('select next, epoch from progress where partition = $1', [partition]);
    const record = { partition, offset: BigInt(progress.next), time: Date.now(), bytes };
    const { statement, values } = beginQuarantine(record, teamId, 'a planted fault', BigInt(progress.epoch));
    expect((await client.query(statement.text, [...values])).rowCount).toBe(1);
  });
}

/**
 * Of an event that is appended while the process does not know yet that its team is held: the answer to its commit is
 * lost.
 */
async function appendAndLose({ commits }: { readonly commits: boolean }): Promise<Outcome> {
  const teamId = randomUUID();
  const partition = partitionOf(teamId, partitionCount);
  const other = encode(setPlan(teamId, { rowsMax: 3 }));
  const steps: ('hold' | 'lose' | 'append another')[] = [];
  const through = interceptWriters(database(), async ({ name, text }, send) => {
    if (steps[0] === 'hold' && text.includes('update tablog_log.heads')) {
      steps.shift();
      await hold(teamId, partition);
    } else if (steps[0] === 'lose' && text === 'commit') {
      steps.shift();
      if (commits) await send();
      throw new Error('Connection terminated unexpectedly');
    } else if (steps[0] === 'append another' && name === 'end_backend') {
      steps.shift();
      const ended = await send();
      await inTransaction(database().pool, (client) => appendRecord(client, partition, other.bytes));
      return ended;
    }
    return send();
  });
  const log = await PostgresLog.open(
    {
      database: through,
      projector: new Projector(models),
      partitions: partitionCount,
      logger: pino({ level: 'silent' }),
      observer: noLogObserver,
      queueEventsMax: 1000,
      queueBytesMax: 1_000_000,
      unknownWait: 60_000,
    },
    new AbortController().signal,
  );
  closers.push(() => log.close());
  await log.append(partition, encode(createTeam(teamId, 'held')));
  steps.push('hold', 'lose', 'append another');
  return log.append(partition, encode(setPlan(teamId, { rowsMax: 2 })));
}

test('an event that is in the log and held is answered as unknown, because its release may apply it', async () => {
  const error = await appendAndLose({ commits: true }).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(AppendUnknown);
  expect((error as Error).message).toMatch(/is in quarantine/);
});

test('an event that is not in the log is answered as not appended, although another one of its team took its offset', async () => {
  await expect(appendAndLose({ commits: false })).rejects.toThrow(NotAppended);
});
