/** What statements say of teams in quarantine. */

/**
 * Join it on `partition`, under a name, for the log `time` by which the garbage of each partition is judged. It stands
 * still while events are held: they will look up what there was at their own time.
 */
export const garbageTimes = `(
  select partition, least(time, (select min(time) from quarantines
  where quarantines.partition = progress.partition)) as time from progress)`;

/**
 * SQL: the rows of `select` for each partition, under the name `old`; it names the partition's log time as
 * `progress.time`, and orders and limits itself. So one partition that stands still, and what is kept there, does not
 * hide what is old in others.
 */
export const oldestOfPartitions = (select: string): string =>
  `${garbageTimes} progress cross join lateral (${select}) old`;

/** Whether a team of `teams` is in no quarantine. Events about others would only be held, too. */
export const isNotHeld = `not exists (select from quarantines where quarantines.partition = teams.partition and quarantines.team_id = teams.id)`;
