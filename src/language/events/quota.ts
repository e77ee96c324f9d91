/**
 * Quotas: limits on what a team may have, set by its plan or by a setting (docs/reference/limits.md). Also the texts of
 * their refusals: an outcome stores only the text, and metrics count by it.
 */

/** Nouns for the quotas that decisions count, from the log. */
const nounsOfLog = {
  rows: 'rows',
  tables: 'tables',
  stashes: 'stashes',
  openBodies: 'open bodies',
  openUploads: 'open uploads',
  openUploadBytes: 'bytes of open uploads',
  uploadBytes: 'bytes of files',
} as const;

/** Nouns for the other quotas, which are counted outside of the log (docs/decisions/0029). */
const nounsBeside = { logBytesPerDay: 'bytes of the log today' } as const;

const nouns = { ...nounsOfLog, ...nounsBeside };

/** A quota whose use decisions know. */
export type Quota = keyof typeof nounsOfLog;

/** A quota that a plan can limit. */
export type PlanQuota = keyof typeof nouns;

export const quotas = Object.keys(nounsOfLog) as readonly Quota[];
export const planQuotas = Object.keys(nouns) as readonly PlanQuota[];

/** The noun for what the quota counts, in the plural. */
export function nounOf(quota: PlanQuota): string {
  return nouns[quota];
}

/** How much of each quota a team uses. */
export type Usage = { readonly [Q in Quota]: number };

/** The limits of a plan. Null: the plan sets no limit, so that the setting applies, if there is one. */
export type PlanLimits = { readonly [Q in PlanQuota as `${Q}Max`]: number | null };

export const noUsage: Usage = {
  rows: 0,
  tables: 0,
  stashes: 0,
  openBodies: 0,
  openUploads: 0,
  openUploadBytes: 0,
  uploadBytes: 0,
};

export const noPlanLimits: PlanLimits = {
  rowsMax: null,
  tablesMax: null,
  stashesMax: null,
  openBodiesMax: null,
  openUploadsMax: null,
  openUploadBytesMax: null,
  uploadBytesMax: null,
  logBytesPerDayMax: null,
};

/** What a team can do to make room, for quotas that a setting can limit. */
const remedies: Partial<Record<PlanQuota, string>> = {
  tables: 'delete some',
  stashes: 'delete some, or wait until they expire',
  openBodies: 'wait until they have arrived; what was cut off counts for an hour',
  openUploads: 'complete them, or wait until they expire',
  openUploadBytes: 'complete them, or wait until they expire',
  logBytesPerDay: 'wait until the next day (UTC)',
};

/** The text must not change: replay would give other outcomes. */
export function planRefusal(quota: PlanQuota, used: number, max: number): string {
  return `the team's plan allows ${max} ${nouns[quota]} and ${used} are in use`;
}

/** This text must not change either. */
export function settingRefusal(quota: PlanQuota, used: number, max: number): string {
  return `the team has ${used} ${nouns[quota]} and may have at most ${max}: ${remedies[quota]}`;
}

/** The quota of a refusal with this message; null if the message is not that of a quota. */
export function quotaOfRefusal(message: string): PlanQuota | null {
  const [, noun] =
    /^the team(?:'s plan allows| has) \d+ ([a-z ]+?) and (?:\d+ are in use|may have at most \d+)/.exec(message) ?? [];
  return planQuotas.find((quota) => nouns[quota] === noun) ?? null;
}
