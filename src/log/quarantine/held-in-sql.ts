/** SQL conditions on teams in quarantine. */

/**
 * Join this on `partition`, under a name, to get the log `time` that determines the garbage of each partition. While
 * events are held, this time does not advance, because these events will look up the state of their own time.
 */
export const garbageTimes = `(
  select partition, least(time, (select min(time) from quarantines
  where quarantines.partition = progress.partition)) as time from progress)`;

/**
 * SQL: the rows of `select` for each partition, under the name `old`. `select` refers to the partition's log time as
 * `progress.time`, and has its own order and limit. So a partition that stands still keeps its garbage without hiding
 * that of others.
 */
export const oldestOfPartitions = (select: string): string =>
  `${garbageTimes} progress cross join lateral (${select}) old`;

/** Whether a team in `teams` is not in quarantine. An event about a team in quarantine would only be held, too. */
export const isNotHeld = `not exists (select from quarantines where quarantines.partition = teams.partition and quarantines.team_id = teams.id)`;
