/**
 * Teams in quarantine, for the command line and the routes of operators: lists them and releases them
 * (docs/operate/operations.md).
 */
import { readProgress, readProgressOf } from '../log/progress/progress.store.ts';
import { readQuarantines, type Quarantine } from '../log/quarantine/quarantine.store.ts';
import { ReleaseFailed, releaseTeam, type ReleaseOptions } from '../log/quarantine/release.ts';
import { Projector } from '../log/projector.ts';
import { models } from '../../projections/models.ts';
import type { TeamQueries } from '../../projections/teams/teams.queries.ts';
import type { Database } from '../storage/database/database.ts';
import type { LogReader } from '../log/event-log.ts';
import { proveIdentity } from '../log/identity.ts';

export { ReleaseFailed };

/** A quarantine as it is shown. */
export interface ShownQuarantine extends Quarantine {
  /** The name of the team; null if the event that created it is held. */
  readonly name: string | null;
  /** How many events of all teams the partition has projected since: an upper bound of the held events of this team. */
  readonly eventsSince: bigint;
}

/** Offsets and counts are texts, because they may exceed the integers of JSON. */
export function quarantineAsJson({
  teamId,
  name,
  partition,
  failedOffset,
  since,
  reason,
  eventsSince,
}: ShownQuarantine) {
  return {
    teamID: teamId,
    name,
    partition,
    offset: String(failedOffset),
    since: new Date(since).toISOString(),
    reason,
    eventsSince: String(eventsSince),
  };
}

/** All quarantines, the oldest first. Rejects when Postgres is away. */
export async function readShownQuarantines(
  { pool }: Pick<Database, 'pool'>,
  teams: TeamQueries,
): Promise<ShownQuarantine[]> {
  const quarantines = await readQuarantines(pool);
  if (quarantines.length === 0) return [];
  const progress = await readProgress(pool);
  return Promise.all(
    quarantines.map(async (quarantine) => ({
      ...quarantine,
      name: (await teams.team(quarantine.teamId))?.name ?? null,
      eventsSince: progress[quarantine.partition]!.next - quarantine.next,
    })),
  );
}

/**
 * Projects the held events of a team while services run, and ends its quarantine. Rejects with WrongLog if the read
 * model was not built from this log, and as `releaseTeam` does.
 */
export async function releaseQuarantine(
  { teamId, partition }: Quarantine,
  log: LogReader,
  database: Database,
  options: Pick<ReleaseOptions, 'onProgress' | 'signal'>,
): Promise<void> {
  await proveIdentity(log, partition, await readProgressOf(database.pool, partition));
  await releaseTeam(teamId, { ...options, database, log, projector: new Projector(models) });
}
