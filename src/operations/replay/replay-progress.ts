/**
 * The progress of `tablog replay`, which builds a read model beside the one that serves. Other processes read it from
 * Postgres.
 */
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { holdersOfOne } from '../../storage/database/held-locks.ts';
import type { FillState } from './fill-progress.ts';

/** The name of the Postgres schema in which a replay builds the replacement of this one. */
export function rebuildName(schema: string): string {
  return `${schema}_rebuild`;
}

/**
 * How many events the replay has projected, of the events that the serving read model has. Null while no replay runs,
 * even if an interrupted one left its schema. Rejects when Postgres cannot be reached, and at the moment at which the
 * rebuilt read model takes over.
 */
export async function readReplay({ pool, schema }: Pick<Database, 'pool' | 'schema'>): Promise<FillState | null> {
  const rebuilt = `${rebuildName(schema)}.progress`;
  // Query the locks only if the schema exists.
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
