/** The parts of the projector's own tables that replay must reproduce. */
import { logTimes, type Section } from './compare/section.ts';
import { storedOutcomes } from './outcomes/outcome.entity.ts';
import { outcomeLife, outcomesKept } from './outcomes/recorded-outcome.ts';

export const engineSections: readonly Section[] = [
  {
    what: 'progress',
    owner: 'partition',
    name: ({ partition }) => `progress of partition ${partition}`,
    keys: ['partition'],
    query: `select partition, next, base, gaps, log_id, encode(last_hash, 'hex') as last_hash, time from progress order by partition`,
  },
  {
    what: 'quarantines',
    owner: 'partition',
    name: ({ partition, team_id: teamId }) => `quarantine of team ${teamId} in partition ${partition}`,
    keys: ['partition', 'team_id'],
    query: 'select partition, team_id, failed_offset from quarantines order by partition, team_id',
  },
  {
    what: 'outcomes',
    owner: 'partition',
    name: ({ partition, command_id: id }) => `outcome of command ${id} in partition ${partition}`,
    keys: ['partition', 'command_id'],
    // `replaced_time` is compared only within `outcomesKept`: an older outcome may have been garbage-collected before
    // it was replaced.
    query: `select ${storedOutcomes.compared()},
        case when outcomes.time - replaced_time <= ${outcomesKept} then replaced_time end as replaced_time
      from outcomes join ${logTimes} using (partition)
      where last.time - outcomes.time < ${outcomeLife} order by partition, command_id`,
    // An outcome is replaced only by one with a later offset.
    blocks: { number: 'log_offset / 50000', fingerprint: `concat_ws(' ', count(*), sum(log_offset))` },
  },
];
