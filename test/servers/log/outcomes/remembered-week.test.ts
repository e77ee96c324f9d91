/**
 * A command that comes again at the end of the seven days for which it is remembered: whoever waits for it hears what
 * was decided by the time of the record, although clocks have moved on since.
 */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createTeam } from '../../../../commands/teams.ts';
import { OutcomeWaiters } from '../../../../src/log/kafka/outcome-waiters.ts';
import { ProgressWatch } from '../../../../src/log/kafka/progress-watch.ts';
import { outcomeLife } from '../../../../src/log/outcomes/recorded-outcome.ts';
import { PartitionWriter } from '../../../../src/log/postgres/partition-writer.ts';
import { projectBatch } from '../../../../src/log/project-records.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { models } from '../../../../projections/models.ts';
import type { Database } from '../../../../src/storage/database/database.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { EncodedEvent } from '../../../../src/language/events/event.ts';
import type { Outcome } from '../../../../src/language/events/outcome.ts';
import { LogClock } from '../../../../src/log/log-clock.ts';
import { noLogObserver } from '../../../../src/log/log-observer.ts';
import { createLogTables, logSchema } from '../../../../src/log/postgres/log-tables.ts';
import { interceptWriters } from '../../../support/intercepted-writers.ts';
import { useReadModel } from '../../../support/read-model.ts';

const partition = 0;
/** The time of the first record, and of the first that counts as new. */
const start = 1_700_000_000_000;
const edge = start + outcomeLife;

const { database, closers } = useReadModel(1, 'test');

beforeEach(async () => {
  await createLogTables(database().pool, 1);
});

const teamId = randomUUID();

function creating(notAfter: number | null): EncodedEvent {
  return encodeEvent(
    { commandId: teamId, notAfter, requestDigest: 'the same request' },
    createTeam(teamId, 'remembered'),
  );
}

/** What a request hears, or the name of the error. */
async function heard(outcome: Promise<Outcome>): Promise<string> {
  return outcome.then(
    ({ status }) => status,
    (error: Error) => error.name,
  );
}

/** The offset of the record by which the command took effect. */
async function offsetOfEffect(): Promise<string> {
  return (await database().pool.query('select log_offset from outcomes')).rows[0].log_offset;
}

describe('on Kafka', () => {
  /**
   * The team is created at `start`, and again by a record of this time: what does the request for that hear, once both
   * are projected?
   */
  async function heardOfRepetition(time: number, notAfter: number, isPlaced: boolean): Promise<string> {
    const waiters = new OutcomeWaiters(1);
    const watch = new ProgressWatch({
      database: database(),
      waiters,
      partitions: 1,
      unknownWait: 60_000,
      listens: true,
      logger: pino({ level: 'silent' }),
      onFallen: () => undefined,
      onRefreshed: () => undefined,
    });
    closers.push(() => watch.close());
    const records = [start, time].map((each, at) => ({
      partition,
      offset: BigInt(at),
      time: each,
      bytes: creating(at === 0 ? null : notAfter).bytes,
    }));
    const wait = waiters.wait(partition, teamId, teamId, notAfter);
    const hearing = heard(wait.outcome);
    if (isPlaced) wait.placedAt(records[1]!);
    await projectBatch({ database: database(), projector: new Projector(models), partition, epoch: 0n }, records);
    watch.lookUp(partition);
    await watch.close();
    waiters.giveUp(0);
    return hearing;
  }

  test.each<[string, number, number, boolean, string, string]>([
    ['the last record that repeats it has the earlier outcome', edge - 1, edge + 59_999, true, 'applied', '0'],
    ['the first record that counts as new has an outcome of its own', edge, edge + 60_000, true, 'applied', '1'],
    [
      'a record that counts as new and came too late has no effect',
      edge + 60_001,
      edge + 60_000,
      true,
      'NotAppended',
      '0',
    ],
    [
      'nobody knows of a record that may count as new, while its place is not known',
      edge - 1,
      edge + 59_999,
      false,
      'AppendUnknown',
      '0',
    ],
    [
      'a record that can only repeat it has the earlier outcome, wherever it is',
      edge - 60_001,
      edge - 1,
      false,
      'applied',
      '0',
    ],
  ])('on Kafka, %s', async (_name, time, notAfter, isPlaced, expected, effect) => {
    expect(await heardOfRepetition(time, notAfter, isPlaced)).toBe(expected);
    expect(await offsetOfEffect()).toBe(effect);
  });
});

describe('on Postgres, when the answer to the commit is lost', () => {
  class SetClock extends LogClock {
    time = start;
    override now(): number {
      return this.time;
    }
    override set(): void {
      // It goes as the test says.
    }
  }

  /** The database, whose answers to commits get lost while `isLosing`; each time, `onLost` is called. */
  function losing(isLosing: () => boolean, onLost: () => void): Database {
    return interceptWriters(database(), async ({ name, text }, send) => {
      const answer = await send();
      // A batch that is decided ahead is one statement.
      const isCommit =
        name === 'commit' ||
        (text.startsWith('with part_1') &&
          text.includes(`insert into ${logSchema}`) &&
          text.includes('update progress'));
      if (!isLosing() || !isCommit) return answer;
      onLost();
      throw new Error('Connection terminated unexpectedly');
    });
  }

  test.each<[string, number, string]>([
    ['the last record that repeats it has the earlier outcome', edge - 1, '0'],
    ['the first record that counts as new has an outcome of its own', edge, '1'],
  ])('on Postgres, %s', async (_name, time, effect) => {
    const clock = new SetClock('the test');
    let losesAnswers = false;
    const through = losing(
      () => losesAnswers,
      () => {
        losesAnswers = false;
        clock.time = edge + 60_000;
      },
    );
    const writer = new PartitionWriter({
      epoch: 0n,
      partition,
      database: through,
      projector: new Projector(models),
      clock,
      catchUp: async () => undefined,
      onLanded: () => undefined,
      unknownWait: 60_000,
      observer: noLogObserver,
    });
    closers.push(() => writer.idle());
    expect(await heard(writer.append(creating(null)))).toBe('applied');
    clock.time = time;
    losesAnswers = true;
    expect(await heard(writer.append(creating(null)))).toBe('applied');
    expect(losesAnswers).toBe(false);
    expect(await offsetOfEffect()).toBe(effect);
  });
});
