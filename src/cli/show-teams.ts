/** Teams with their plans and usage, as `tablog teams` and `tablog plans` show them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { readConfig } from '../app/config.ts';
import { nounOf, quotas, type Quota } from '../events/quota.ts';
import { writeTable } from './console.ts';

/** The setting that limits a quota where the plan of a team does not. */
const settings = {
  tables: 'TABLES_MAX', stashes: 'STASHES_MAX', openBodies: 'BODIES_OPEN_MAX', openUploads: 'UPLOADS_OPEN_MAX',
  openUploadBytes: 'UPLOADS_OPEN_BYTES_MAX',
} as const;

/** A quota of a team. */
export interface ShownQuota {
  readonly used: number;
  /** Null: no limit. */
  readonly max: number | null;
  /** `plan`, or the name of a setting; null if there is no limit. */
  readonly setBy: string | null;
}

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

/** Whether a setting limits the quota where the plan does not. */
export function hasDefault(quota: Quota): quota is keyof typeof settings {
  return quota in settings;
}

/** The quotas of a team, under the settings of this command's environment. */
export function quotasAsJson(team: TeamSummary): { readonly [Q in Quota]: ShownQuota } {
  const config = readConfig();
  const shown = quotas.map((quota): readonly [Quota, ShownQuota] => {
    const used = team[quota];
    const planMax = team[`${quota}Max`] ?? null;
    if (planMax !== null) return [quota, { used, max: planMax, setBy: 'plan' }];
    return [quota, hasDefault(quota) ? { used, max: config[settings[quota]], setBy: settings[quota] } : { used, max: null, setBy: null }];
  });
  return Object.fromEntries(shown) as { readonly [Q in Quota]: ShownQuota };
}

export function writeQuotas(team: TeamSummary): void {
  const shown = quotasAsJson(team);
  writeTable(['QUOTA', 'USED', 'AT MOST', 'SET BY'], quotas.map((quota) => {
    const { used, max, setBy } = shown[quota];
    return [nounOf(quota), String(used), describeLimit(max), setBy ?? ''];
  }));
}
