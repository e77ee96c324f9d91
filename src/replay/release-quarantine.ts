/** Lets teams go on that are in quarantine: what an operator asks for with `tablog quarantine release` (docs/operations.md). */
import { readProgressOf } from '../../projections/engine/progress/progress.store.ts';
import { Projector } from '../../projections/engine/projector.ts';
import type { Quarantine } from '../../projections/engine/quarantine/quarantine.store.ts';
import { releaseTeam, type ReleaseOptions } from '../../projections/engine/quarantine/release.ts';
import { models } from '../../projections/models.ts';
import type { Database } from '../database/database.ts';
import type { RecordLog } from '../log/event-log.ts';
import { proveIdentity } from '../log/identity.ts';

/**
 * Projects the events of a team that were held, beside running services, and ends its quarantine. Rejects with WrongLog if the log is not
 * the one of the read model, and as `releaseTeam` does.
 */
export async function releaseQuarantine(
  { teamId, partition }: Quarantine, log: RecordLog, database: Database, options: Pick<ReleaseOptions, 'onProgress' | 'signal'>,
): Promise<void> {
  await proveIdentity(log, partition, await readProgressOf(database.pool, partition));
  await releaseTeam(teamId, { ...options, database, log, projector: new Projector(models) });
}
