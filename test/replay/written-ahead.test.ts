/** Rows that are written ahead of their event, on a connection of their own. */
import { expect, test } from '@jest/globals';
import { Projector } from '../../src/log/projector.ts';
import { models } from '../../projections/models.ts';
import { useReadModel } from '../support/read-model.ts';
import { DrivenLog, DrivenTeam } from './driven-team.ts';

const { database: ownDatabase } = useReadModel(1, 'file', 5000);

test('a write that hangs is given up and ended, and the rows are written with their event', async () => {
  const database = ownDatabase();
  const log = new DrivenLog(database);
  const team = await DrivenTeam.create(log);
  const event = await team.adding(await team.table(), 'block', ['{"a":"one"}', '{"a":"two"}']);
  // Only the first write hangs: a sequence counts those that are rolled back too.
  await database.pool.query(`create sequence written;
    create function sleep_long() returns trigger language plpgsql as $$ begin
      if nextval('written') = 1 then perform pg_sleep(600); end if;
      return new;
    end $$;
    create trigger slow before insert on segments for each row execute function sleep_long()`);

  await expect(new Projector(models).writeAhead(database, [event.event])).rejects.toThrow('Query read timeout');
  expect(
    (
      await database.pool.query(
        `select query from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`,
      )
    ).rows,
  ).toEqual([]);

  const [outcome] = await team.project(1, [event]);
  expect(outcome).toMatchObject({ status: 'applied' });
  const { rows } = await database.pool.query('select body from segment_rows order by index');
  expect(rows).toEqual([{ body: '{"a":"one"}' }, { body: '{"a":"two"}' }]);
});
