/** The log in Postgres, where an event takes longer to store than a statement may. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { setPlan } from '../../../../commands/plans.ts';
import { createTeam } from '../../../../commands/teams.ts';
import { PostgresLog } from '../../../../src/log/postgres/postgres-log.ts';
import { Projector } from '../../../../src/log/projector.ts';
import { models } from '../../../../projections/models.ts';
import { encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import type { EventLog } from '../../../../src/log/event-log.ts';
import { noLogObserver } from '../../../../src/log/log-observer.ts';
import { useReadModel } from '../../../support/read-model.ts';

const slow = randomUUID();
const others = [randomUUID(), randomUUID(), randomUUID()];
const { database: ownDatabase, closers } = useReadModel(1, 'file', 5000);

test('it alone is refused, and the others of its batch are stored', async () => {
  const database = ownDatabase();
  let timeouts = 0;
  const log = await PostgresLog.open(
    {
      database,
      projector: new Projector(models),
      partitions: 1,
      logger: pino({ level: 'silent' }),
      observer: {
        ...noLogObserver,
        projectionTimedOut: () => {
          timeouts += 1;
        },
      },
      queueEventsMax: 1000,
      queueBytesMax: 1_000_000,
      unknownWait: 10_000,
    },
    new AbortController().signal,
  );
  closers.push(() => log.close());
  await Promise.all([slow, ...others].map((id) => append(log, createTeam(id, 'team'))));
  await database.pool
    .query(`create function sleep_long() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new;
    end $$;
    create trigger slow before update on teams for each row when (new.id = '${slow}') execute function sleep_long()`);

  // The first is a batch of its own, and the others gather behind it.
  const outcomes = await Promise.allSettled(
    [others[0]!, slow, others[1]!, others[2]!].map((id) => append(log, setPlan(id, { rowsMax: 5 }))),
  );

  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(outcomes[1]).toMatchObject({
    reason: { name: 'NotAppended', message: 'the event takes longer to store than a statement may' },
  });
  expect(timeouts).toBeGreaterThanOrEqual(2);
  const { rows } = await database.pool.query('select count(*)::int as count from teams where rows_max = 5');
  expect(rows).toEqual([{ count: 3 }]);
});

function append(log: EventLog, data: EventData): ReturnType<EventLog['append']> {
  return log.append(0, encodeEvent({ commandId: randomUUID(), notAfter: null, requestDigest: null }, data));
}
