/** Teams with their plans and usage, as `tablog teams` and `tablog plans` show them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { readConfig } from '../app/config.ts';
import { nounOf, planQuotas } from '../events/quota.ts';
import { quotasOf } from '../usage/team-quotas.ts';
import { writeTable } from './console.ts';

/** `{id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax}`: sizes are in bytes, and a limit is null if there is none. */
export function teamAsJson({ id, name, suspended, rows, rowsMax = null, uploadBytes, uploadBytesMax = null }: TeamSummary): object {
  return { id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax };
}

export function writeTeams(teams: readonly TeamSummary[]): void {
  writeTable(
    ['ID', 'NAME', 'STATE', 'ROWS', 'ROWS AT MOST', 'UPLOAD BYTES', 'UPLOAD BYTES AT MOST'],
    teams.map(({ id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax }) => [
      id, name, suspended ? 'suspended' : 'active', String(rows), describeLimit(rowsMax), String(uploadBytes),
      describeLimit(uploadBytesMax),
    ]),
  );
}

/** A limit as the flags spell it. */
export function describeLimit(limit: number | null | undefined): string {
  return String(limit ?? 'unlimited');
}

/** The quotas of a team, under the settings of this command's environment. `logBytes`: what it has appended to the log today. */
export function quotasAsJson(team: TeamSummary, logBytes: number): ReturnType<typeof quotasOf> {
  return quotasOf(team, logBytes, readConfig());
}

export function writeQuotas(team: TeamSummary, logBytes: number): void {
  const shown = quotasAsJson(team, logBytes);
  writeTable(['QUOTA', 'USED', 'AT MOST', 'SET BY'], planQuotas.map((quota) => {
    const { used, max, setBy } = shown[quota];
    return [nounOf(quota), String(used), describeLimit(max), setBy ?? ''];
  }));
}
