/** What replay must give again of the engine's own tables. */
import { logTimes, type Section } from './compare/section.ts';
import { outcomeLife, outcomesKept } from './outcomes/recorded-outcome.ts';

export const engineSections: readonly Section[] = [
  {
    name: ([partition]) => `progress of partition ${partition}`,
    keys: 1,
    columns: ['next', 'base', 'log_id', 'last_hash', 'time'],
    query: `select partition, next, base, log_id, encode(last_hash, 'hex'), time from progress order by partition`,
  },
  {
    name: ([partition, commandId]) => `outcome of command ${commandId} in partition ${partition}`,
    keys: 2,
    columns: ['log_offset', 'time', 'etag', 'detail', 'request_digest', 'replaced_time'],
    // What is older may have been removed before it could be replaced.
    query: `select partition, command_id, log_offset, outcomes.time, etag, detail, request_digest,
        case when outcomes.time - replaced_time <= ${outcomesKept} then replaced_time end
      from outcomes join ${logTimes} using (partition)
      where last.time - outcomes.time < ${outcomeLife} order by partition, command_id`,
  },
];
