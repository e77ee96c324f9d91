/**
 * A bug that shows in one team's events only: Postgres refuses to store its counter. Tests of the projector plant it,
 * and repair it.
 */
import type { Database } from '../../../src/storage/database/database.ts';

interface PlantedFault {
  repair(): Promise<void>;
}

/** `when`: SQL, of the row that is to be stored. `does`: PL/pgSQL. */
export async function plantFault(
  { pool }: Database,
  teamId: string,
  when = 'true',
  does = `raise exception 'a planted fault'`,
): Promise<PlantedFault> {
  // Each has a function of its own: Postgres refuses to create or replace one function twice at the same time.
  const name = `fault_${teamId.replaceAll('-', '')}`;
  await pool.query(
    `create function ${name}() returns trigger language plpgsql as $$ begin ${does}; return new; end $$`,
  );
  await pool.query(
    `create trigger ${name} before insert or update on counters for each row when (new.team_id = '${teamId}' and (${when})) execute function ${name}()`,
  );
  return {
    repair: async () => {
      await pool.query(`drop function ${name} cascade`);
    },
  };
}
