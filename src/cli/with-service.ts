/** Runs the service without HTTP for a command. Other processes may run the service at the same time. */
import { once } from 'node:events';
import { normalId } from '../administration/ids.ts';
import { readConfig } from '../app/config.ts';
import type { EventLog } from '../log/event-log.ts';
import { noLogObserver } from '../log/log-observer.ts';
import type { ReadModel } from '../app/service.ts';
import type { TeamQueries, TeamSummary } from '../../projections/teams/teams.queries.ts';
import { newLogger } from './console.ts';
import { interruption } from './interruption.ts';
import { UserError } from './user-error.ts';

/**
 * Opens the log, waits until the read model has caught up, runs `work`, and closes the log. Rejects if that takes
 * longer than `waitMs` milliseconds, or if the log is not available.
 */
type WithLog = <T>(work: (log: EventLog) => Promise<T>, waitMs?: number) => Promise<T>;

/** Runs work that needs the log. Can be interrupted until the work begins. */
export async function withService<T>(
  work: (service: { readonly log: EventLog; readonly teams: TeamQueries }) => Promise<T>,
): Promise<T> {
  return withReadModel(({ queries: { teams } }, withLog) => withLog((log) => work({ log, teams })));
}

/** Runs work that needs Postgres, and opens the log only on demand. */
export async function withReadModel<T>(work: (readModel: ReadModel, withLog: WithLog) => Promise<T>): Promise<T> {
  const signal = interruption();
  // Imported on demand, so that commands that need no service start faster.
  const [{ openReadModel }, { openLog }] = await Promise.all([
    import('../app/service.ts'),
    import('../app/open-log.ts'),
  ]);
  const config = readConfig();
  const logger = newLogger();
  const readModel = await openReadModel(config, logger);
  const withLog: WithLog = async (useLog, waitMs) => {
    const limit = waitMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
    const over = once(limit, 'abort');
    signal.throwIfAborted();
    const options = {
      logger,
      projects: 'unless others do',
      signal,
      observer: noLogObserver,
      languageMax: readModel.languageMax,
      mayBeBehind: readModel.mayBeBehind,
    } as const;
    await readModel.announced();
    const log = await openLog(config, readModel.database, options);
    try {
      await Promise.race([log.caughtUp(), over]);
      signal.throwIfAborted();
      if (limit.aborted) throw new UserError('the read model has not caught up with the log yet');
      return await useLog(log);
    } finally {
      await log.close();
    }
  };
  try {
    return await work(readModel, withLog);
  } finally {
    await readModel.close();
  }
}

/** The team with this ID, or the only one with this name. Throws UserError. */
export async function findTeamByIdOrName(
  { teams }: { readonly teams: TeamQueries },
  idOrName: string,
): Promise<TeamSummary> {
  const id = normalId(idOrName);
  const byId = id === null ? null : await teams.team(id);
  if (byId !== null) return byId;
  const named = (await teams.teams()).filter((team) => team.name === idOrName);
  if (named.length === 1) return named[0]!;
  if (named.length === 0)
    throw new UserError(`There is no team ${JSON.stringify(idOrName)}; see \`tablog teams list\`.`);
  const ids = named.map((team) => team.id).join(', ');
  throw new UserError(`${named.length} teams are named ${JSON.stringify(idOrName)}; give the ID of one: ${ids}`);
}
