/** Counts how often partitions are fenced off only to prove the log (`fenceOff`). */
import pg from 'pg';
import { readModelSchema } from '../../../projections/models.ts';

/** Counts from now on. `count` resolves to the number so far. */
export async function countFences(
  databaseUrl: string,
): Promise<{ readonly count: () => Promise<number>; readonly close: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create table public.fences (partition int not null);
    create function public.count_fence() returns trigger language plpgsql as $$
      begin
        insert into public.fences values (new.partition);
        return null;
      end $$;
    create trigger count_fence after update of epoch on ${readModelSchema}.progress
      for each row when (new.epoch <> old.epoch and new.epoch % 2 = 0) execute function public.count_fence();
  `);
  return {
    count: async () =>
      (await client.query<{ count: number }>('select count(*)::int from public.fences')).rows[0]!.count,
    close: () => client.end(),
  };
}
