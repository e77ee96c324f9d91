/** The answer of `/readyz`. */
import type { CheckHealth } from '../api/http/service/health.ts';
import type { Database } from '../storage/database/database.ts';
import type { SharedParts } from './shared-parts.ts';
import type { StandstillWatch } from './standstill-watch.ts';

/** `hasStarted` returns true once the read model has caught up with the log and the greeting is printed. */
export function healthCheckOf(
  { database, log, engine }: SharedParts,
  standstills: Pick<StandstillWatch, 'problem'>,
  hasStarted: () => boolean,
): CheckHealth {
  return async () => {
    const notReady = [...(hasStarted() ? [] : ['The service is starting.']), ...(await findDatabaseProblems(database))];
    const { problem } = standstills;
    return {
      notReady: notReady.length > 0 || problem === null ? notReady : [problem],
      problems: [...log.problems(), ...engine.problems()],
    };
  };
}

/** Resolves when Postgres has answered; rejects when it cannot be reached. */
export async function askPostgres({ reader }: Database): Promise<void> {
  await reader.query({ name: 'check_health', text: 'select 1' }, []);
}

async function findDatabaseProblems(database: Database): Promise<string[]> {
  try {
    await askPostgres(database);
    return [];
  } catch {
    return ['Postgres cannot be reached.'];
  }
}
