/** Teams with their plans and usage, as `tablog teams` and `tablog plans` show them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { nounOf, planQuotas } from '../language/events/quota.ts';
import type { quotasOf } from '../api/usage/team-quotas.ts';
import { writeTable } from './console.ts';

export async function writeTeams(teams: readonly TeamSummary[]): Promise<void> {
  await writeTable(
    ['ID', 'NAME', 'STATE', 'ROWS', 'ROWS AT MOST', 'UPLOAD BYTES', 'UPLOAD BYTES AT MOST'],
    teams.map(({ id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax }) => [
      id,
      name,
      suspended ? 'suspended' : 'active',
      String(rows),
      describeLimit(rowsMax),
      String(uploadBytes),
      describeLimit(uploadBytesMax),
    ]),
  );
}

/** A limit as the flags spell it. */
export function describeLimit(limit: number | null | undefined): string {
  return String(limit ?? 'unlimited');
}

export async function writeQuotas(shown: ReturnType<typeof quotasOf>): Promise<void> {
  await writeTable(
    ['QUOTA', 'USED', 'AT MOST', 'SET BY'],
    planQuotas.map((quota) => {
      const { used, max, setBy } = shown[quota];
      return [nounOf(quota), String(used), describeLimit(max), setBy ?? ''];
    }),
  );
}
