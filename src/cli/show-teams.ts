/** Teams with their plans and what they use of them, as `tablog teams` and `tablog plans` write them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { writeTable } from './console.ts';

/** A limit of a plan; none: no limit. */
type Limit = bigint | null | undefined;

/** `{id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax}`: the sizes are bytes, and a limit is null where there is none. */
export function teamAsJson({ id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax }: TeamSummary): object {
  return {
    id, name, suspended, rows: Number(rows), rowsMax: toNumber(rowsMax), uploadBytes: Number(uploadBytes),
    uploadBytesMax: toNumber(uploadBytesMax),
  };
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

/** In the words in which a limit is set. */
export function describeLimit(limit: Limit): string {
  return String(limit ?? 'unlimited');
}

function toNumber(limit: Limit): number | null {
  return limit === null || limit === undefined ? null : Number(limit);
}
