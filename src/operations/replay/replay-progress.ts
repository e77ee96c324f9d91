/**
 * How far `tablog replay` is, which builds a read model beside the one that serves: other processes read it in
 * Postgres.
 */
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { holdersOfOne } from '../../storage/database/held-locks.ts';
import type { FillState } from './fill-progress.ts';

/** The Postgres schema in which a read model is built that is to take the place of this one. */
export function rebuildName(schema: string): string {
  return `${schema}_rebuild`;
}

/**
 * How many events are projected, of those that the read model that serves has. Null while no replay runs, whatever an
 * interrupted one left. Rejects when Postgres cannot be reached, and in the moment in which the rebuilt read model
 * takes over.
 */
export async function readReplay({ pool, schema }: Pick<Database, 'pool' | 'schema'>): Promise<FillState | null> {
  const rebuilt = `${rebuildName(schema)}.progress`;
  // The locks are looked at only while there is such a schema.
  const {
    rows: [found],
  } = await pool.query<{ runs: boolean }>(
    `select case when to_regclass($1) is null then false else exists ${holdersOfOne(advisoryLocks.replaceReadModel)} end as runs`,
    [rebuilt],
  );
  if (!found!.runs) return null;
  const {
    rows: [sums],
  } = await pool.query<{ events: string; of: string }>(
    `select sum(least(rebuilt.next, serving.next))::int8 as events, sum(serving.next)::int8 as of
     from ${schema}.progress serving join ${rebuilt} rebuilt using (partition)`,
  );
  return { events: Number(sums!.events), ofEvents: Number(sums!.of) };
}
