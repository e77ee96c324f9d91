/**
 * Quotas: what a team may have so much of, by its plan or else by a setting (docs/limits.md). Also the words of their refusals: an outcome
 * stores only these, and metrics count by them.
 */

/** What each quota counts. */
const nouns = {
  rows: 'rows',
  tables: 'tables',
  stashes: 'stashes',
  openBodies: 'open bodies',
  openUploads: 'open uploads',
  openUploadBytes: 'bytes of open uploads',
  uploadBytes: 'bytes of files',
} as const;

export type Quota = keyof typeof nouns;

export const quotas = Object.keys(nouns) as readonly Quota[];

/** What the quota counts, in the plural. */
export function nounOf(quota: Quota): string {
  return nouns[quota];
}

/** How much of each quota a team uses. */
export type Usage = { readonly [Q in Quota]: number };

/** The limits that a plan sets; null: the plan sets none, so that a setting does, if there is one. */
export type PlanLimits = { readonly [Q in Quota as `${Q}Max`]: number | null };

export const noUsage: Usage = { rows: 0, tables: 0, stashes: 0, openBodies: 0, openUploads: 0, openUploadBytes: 0, uploadBytes: 0 };

export const noPlanLimits: PlanLimits = {
  rowsMax: null, tablesMax: null, stashesMax: null, openBodiesMax: null, openUploadsMax: null, openUploadBytesMax: null, uploadBytesMax: null,
};

/** How a team makes room, where a setting can limit it. */
const remedies: Partial<Record<Quota, string>> = {
  tables: 'delete some',
  stashes: 'delete some, or wait until they expire',
  openBodies: 'wait until they have arrived; what was cut off counts for an hour',
  openUploads: 'complete them, or wait until they expire',
  openUploadBytes: 'complete them, or wait until they expire',
};

/** These words must not change: replay would give other outcomes. */
export function planRefusal(quota: Quota, used: number, max: number): string {
  return `the team's plan allows ${max} ${nouns[quota]} and ${used} are in use`;
}

/** These words must not change either. */
export function settingRefusal(quota: Quota, used: number, max: number): string {
  return `the team has ${used} ${nouns[quota]} and may have at most ${max}: ${remedies[quota]}`;
}

/** The quota whose refusal has this message; null if it is none of a quota. */
export function quotaOfRefusal(message: string): Quota | null {
  const [, noun] = /^the team(?:'s plan allows| has) \d+ ([a-z ]+?) and (?:\d+ are in use|may have at most \d+)/.exec(message) ?? [];
  return quotas.find((quota) => nouns[quota] === noun) ?? null;
}
