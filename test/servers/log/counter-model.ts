/**
 * A model for the projector's tests, no part of the product: it counts the mentions of a team. Creating a team makes
 * its count 1; suspending it adds 1, and is refused from `countMax` on; resuming it notes how many counters are stored,
 * which requires that everything before it is stored. Patching a table does several of these, all or none: each of its
 * columns is one, named by its ID, of the team in its display name.
 */
import { defineEntity, p } from '@mikro-orm/core';
import { StoredTable } from '../../../src/storage/database/stored-table.ts';
import type { Statement } from '../../../src/storage/database/pipelined-client.ts';
import type { Event, EventData } from '../../../src/language/events/event.ts';
import { apply, refuse } from '../../../src/log/batch/decision.ts';
import type { Loading, Model } from '../../../src/log/model.ts';
import { storing } from '../../../src/storage/database/rows-statement.ts';
import { UndoMap, type UndoJournal } from '../../../src/log/batch/undo-journal.ts';

interface Counter {
  readonly teamId: string;
  readonly count: number;
  /** How many counters were stored when the team was last resumed. */
  readonly seen: number;
  readonly key: bigint;
}

type CounterChange = { readonly kind: 'counter'; readonly counter: Counter };

interface CounterStates {
  readonly counters: CountersState;
}

const CounterEntity = defineEntity({
  name: 'Counter',
  tableName: 'counters',
  properties: { teamId: p.uuid().primary(), count: p.integer(), seen: p.integer(), key: p.bigint() },
});

class CountersState {
  readonly newKey: () => bigint;
  readonly known: Map<string, Counter>;
  readonly changed: Map<string, Counter>;
  stored = 0;

  constructor(newKey: () => bigint, journal: UndoJournal) {
    this.newKey = newKey;
    this.known = new UndoMap(journal);
    this.changed = new UndoMap(journal);
  }
}

/** Records the look-ups of the model, for tests to count. */
export const asked = { counters: [] as string[][], stored: 0, remembered: 0 };

const storedCounters = StoredTable.of(CounterEntity);

const selectCounters: Statement<Counter> = {
  name: 'select_counters',
  text: `select ${storedCounters.columns()} from counters where team_id = any($1::uuid[])`,
};
const countCounters: Statement<{ count: number }> = {
  name: 'count_counters',
  text: 'select count(*)::int4 from counters',
};
const upsertCounters = storedCounters.upsert('upsert_counters', ['count', 'seen']);

export const countMax = 5;

const counters: Model<CountersState, CounterStates, CounterChange, Map<string, Counter>> = {
  entities: [CounterEntity],
  storage: ['create index counters_by_count on counters (count)'],
  decisions: {
    TeamCreated: ({ counters: { known, newKey } }, { data: { teamId } }) => {
      return apply(known.has(teamId) ? [] : [changed({ teamId, count: 1, seen: 0, key: newKey() })]);
    },
    TeamSuspended: ({ counters: { known } }, { data: { teamId } }, at) => {
      const counter = known.get(teamId);
      if (!counter) return refuse('table_not_found', 'there is no such counter');
      if (counter.count >= countMax) return refuse('limit_exceeded', `it counts to ${countMax}`);
      return apply([changed({ ...counter, count: counter.count + 1 })], at.version);
    },
    TeamResumed: ({ counters: { known, stored } }, { data: { teamId } }) => {
      return apply([changed({ ...known.get(teamId)!, seen: stored })]);
    },
  },
  sequences: {
    TablePatchRequested: {
      partsOf: ({ columns }) =>
        columns.map(({ id, displayName }): EventData => {
          const teamId = displayName!;
          return id === 'TeamCreated'
            ? { type: id, teamId, name: 'counted' }
            : { type: id as 'TeamSuspended' | 'TeamResumed', teamId };
        }),
      outcomeOf: (_data, parts, at) => ({
        status: 'applied',
        result: { droppedCells: parts.length },
        etag: at.version,
      }),
      refusalOf: (_data, { type, message }, part) => ({ type, message: `columns[${part}]: ${message}` }),
    },
  },
  changes: {
    counter: ({ counters: { known, changed } }, { counter }) => {
      known.set(counter.teamId, counter);
      changed.set(counter.teamId, counter);
    },
  },
  open: (newKey, journal) => new CountersState(newKey, journal),
  keysAtMost: ({ type }) => (type === 'TeamCreated' ? 1 : 0),
  load,
  store: (state) => storing([...state.changed.values()], upsertCounters),
  remember: (remembered, state) => {
    const known = remembered ?? new Map<string, Counter>();
    for (const [teamId, counter] of state.known) known.set(teamId, counter);
    return known;
  },
  readsStored: ({ type }) => type === 'TeamResumed',
  loadsAhead: ['TeamSuspended'],
  sections: [
    {
      what: 'counters',
      owner: 'team_id',
      name: ({ team_id: teamId }) => `counter ${teamId}`,
      keys: ['team_id'],
      query: `select ${storedCounters.compared({ without: ['key'] })} from counters order by team_id`,
    },
  ],
  garbage: {
    full_counters: async (database, later) => {
      const { rowCount } = await database.pool.query('delete from counters where count >= $1', [
        later > 0 ? countMax : countMax + 1,
      ]);
      return rowCount ?? 0;
    },
  },
};

export const toyModels = { counters };

function changed(counter: Counter): CounterChange {
  return { kind: 'counter', counter };
}

async function load({
  tx,
  events,
  states: { counters: state },
  before,
  remembered,
}: Loading<CounterStates, Map<string, Counter>, null>): Promise<void> {
  const missing = [...new Set(events.flatMap(teamOf))].filter((teamId) => {
    const known = state.known.get(teamId) ?? before?.counters.known.get(teamId) ?? remembered?.get(teamId);
    if (known) state.known.set(teamId, known);
    if (known) asked.remembered += 1;
    return !known;
  });
  const counts = events.some(({ data }) => data.type === 'TeamResumed');
  const [found, stored] = await Promise.all([
    missing.length === 0 ? null : tx.query(selectCounters, [missing]),
    counts ? tx.query(countCounters, []) : null,
  ]);
  if (missing.length > 0) asked.counters.push(missing);
  for (const counter of found?.rows ?? []) state.known.set(counter.teamId, counter);
  if (stored) state.stored = stored.rows[0]!.count;
}

function teamOf({ data }: Event): string[] {
  return 'teamId' in data ? [data.teamId] : [];
}
