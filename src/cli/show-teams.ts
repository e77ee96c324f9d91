/** Teams with their plans and usage, as `tablog teams` and `tablog plans` show them. */
import type { TeamSummary } from '../../projections/teams/teams.queries.ts';
import { readConfig } from '../app/config.ts';
import { nounOf, planQuotas, type PlanQuota } from '../events/quota.ts';
import { writeTable } from './console.ts';

/** The setting that limits a quota where the plan of a team does not. */
const settings = {
  tables: 'TABLES_MAX', stashes: 'STASHES_MAX', openBodies: 'BODIES_OPEN_MAX', openUploads: 'UPLOADS_OPEN_MAX',
  openUploadBytes: 'UPLOADS_OPEN_BYTES_MAX', logBytesPerDay: 'LOG_BYTES_PER_DAY',
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
export function hasDefault(quota: PlanQuota): quota is keyof typeof settings {
  return quota in settings;
}

/** The quotas of a team, under the settings of this command's environment. `logBytes`: what it has appended to the log today. */
export function quotasAsJson(team: TeamSummary, logBytes: number): { readonly [Q in PlanQuota]: ShownQuota } {
  const config = readConfig();
  const shown = planQuotas.map((quota): readonly [PlanQuota, ShownQuota] => {
    const used = quota === 'logBytesPerDay' ? logBytes : team[quota];
    const planMax = team[`${quota}Max`] ?? null;
    if (planMax !== null) return [quota, { used, max: planMax, setBy: 'plan' }];
    const settingMax = hasDefault(quota) ? config[settings[quota]] : undefined;
    return [quota, settingMax === undefined ? { used, max: null, setBy: null } : { used, max: settingMax, setBy: settings[quota as keyof typeof settings] }];
  });
  return Object.fromEntries(shown) as { readonly [Q in PlanQuota]: ShownQuota };
}

export function writeQuotas(team: TeamSummary, logBytes: number): void {
  const shown = quotasAsJson(team, logBytes);
  writeTable(['QUOTA', 'USED', 'AT MOST', 'SET BY'], planQuotas.map((quota) => {
    const { used, max, setBy } = shown[quota];
    return [nounOf(quota), String(used), describeLimit(max), setBy ?? ''];
  }));
}
