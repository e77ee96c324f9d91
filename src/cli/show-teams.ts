/** Teams with their plans and what they use of them, as `tablog teams` and `tablog plans` write them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { writeTable } from './console.ts';

/** `{id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax}`: the sizes are bytes, and a limit is null where there is none. */
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

/** In the words in which a limit is set; none: no limit. */
export function describeLimit(limit: number | null | undefined): string {
  return String(limit ?? 'unlimited');
}
