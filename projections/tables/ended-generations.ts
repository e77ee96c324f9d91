/** SQL conditions of garbage collection on generations that were replaced, or that ended with their table. */
import { outcomesKept } from '../../src/log/outcomes/recorded-outcome.ts';
import { oldestOfPartitions } from '../../src/log/quarantine/held-in-sql.ts';

/**
 * How long an ended generation is remembered, in milliseconds of log time. Answers contain its retained row IDs, and
 * can be repeated as long as outcomes are stored. After that the generation is forgotten.
 */
export const rememberedAnswers = outcomesKept;

/** Whether garbage collection may have forgotten a generation. `last` has the log time of the partition. */
export const isForgettableInSql = `ended.ended_at < last.time - ${rememberedAnswers}`;

/** The extents of an ended generation. The range of versions limits the scan to this generation. */
export const ofGeneration = `extents.table_id = ended.table_id and extents.generation = ended.version
  and extents.version >= ended.version and extents.version < ended.ended`;

/** Generations that ended longer than `$1` ago, the oldest of each partition first. */
export const oldestGenerations = (condition: string, limit: number): string =>
  oldestOfPartitions(`
  select ended.table_id, ended.version from generations ended
  join tables on tables.id = ended.table_id join teams on teams.id = tables.team_id
  and teams.partition = progress.partition
  where ${condition} and ended.ended_at < progress.time - $1 order by ended.ended_at, ended.version limit ${limit}`);
