/** The service without HTTP, for a command: it works whether or not the service runs elsewhere at the same time. */
import { once } from 'node:events';
import { readConfig } from '../config.ts';
import type { Service } from '../service.ts';
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { newLogger } from './console.ts';
import { interruption } from './interruption.ts';
import { UserError } from './run-to-end.ts';

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Runs the work. Can be interrupted until that begins; what it appends to the log it appends whole. */
export async function withService<T>(work: (service: Service) => Promise<T>): Promise<T> {
  const signal = interruption();
  const interrupted = once(signal, 'abort');
  // Commands that need no service start faster without all that it takes.
  const { openService } = await import('../service.ts');
  const service = await openService(readConfig(), newLogger(), signal, { projects: 'unless others do' });
  try {
    await Promise.race([service.log.caughtUp(), interrupted]);
    signal.throwIfAborted();
    return await work(service);
  } finally {
    await service.close();
  }
}

/** The team of this ID, or the only one of this name. Throws UserError. */
export async function findTeam(service: Service, idOrName: string): Promise<TeamSummary> {
  const byId = uuidPattern.test(idOrName) ? await service.teams.team(idOrName.toLowerCase()) : null;
  if (byId !== null) return byId;
  const named = (await service.teams.teams()).filter((team) => team.name === idOrName);
  if (named.length === 1) return named[0]!;
  if (named.length === 0) throw new UserError(`There is no team ${JSON.stringify(idOrName)}; see \`tablog teams list\`.`);
  const ids = named.map((team) => team.id).join(', ');
  throw new UserError(`${named.length} teams are named ${JSON.stringify(idOrName)}; say which by its ID: ${ids}`);
}

/** A token's or team's ID as it is stored, or null for what cannot be one. */
export function normalId(text: string): string | null {
  return uuidPattern.test(text) ? text.toLowerCase() : null;
}
