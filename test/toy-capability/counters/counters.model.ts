/** Counters: one for each team. */
import { namedBy } from '../../../src/language/events/event-names.ts';
import { apply } from '../../../src/log/batch/decision.ts';
import { storing } from '../../../src/storage/database/rows-statement.ts';
import type { Loading, Model } from '../../../src/log/model.ts';
import { CountersState, type CounterChange, type CounterStates } from './counters.state.ts';
import { CounterEntity, CounterQueries, selectCounters, storedCounters, upsertCounters } from './counters.store.ts';
import { decideRaiseCounter } from './decide-raise-counter.ts';

export const counters: Model<CountersState, CounterStates, CounterChange, null, null, CounterQueries> = {
  entities: [CounterEntity],
  storage: [],
  decisions: {
    CounterRaiseRequested: decideRaiseCounter,
    CounterRestarted: (_states, { data: { teamId } }) => apply([{ kind: 'counter', counter: { teamId, count: 0 } }]),
  },
  changes: {
    counter: ({ counters }, { counter }) => counters.change(counter),
  },
  open: (_newKey, journal) => new CountersState(journal),
  load,
  store: (state) => storing(state.changed(), upsertCounters),
  queries: (database) => new CounterQueries(database),
  sections: [
    {
      what: 'counters',
      owner: 'team_id',
      name: ({ team_id: teamId }) => `counter ${teamId}`,
      keys: ['team_id'],
      query: `select ${storedCounters.compared()} from counters order by team_id`,
    },
  ],
  garbage: {},
};

async function load({ tx, events, states, before }: Loading<CounterStates, null, null>): Promise<void> {
  const missing = new Set<string>();
  for (const { data } of events) {
    if (data.type !== 'CounterRaiseRequested') continue;
    const teamId = namedBy(data, 'team')!;
    const counter = states.counters.find(teamId) ?? before?.counters.find(teamId);
    if (counter) states.counters.put(counter);
    else missing.add(teamId);
  }
  if (missing.size === 0) return;
  const { rows } = await tx.query(selectCounters, [[...missing]]);
  for (const counter of rows) states.counters.put(counter);
}
