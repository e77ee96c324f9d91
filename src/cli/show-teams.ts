/** Teams with their plans and usage, as `tablog teams` and `tablog plans` show them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
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
