/** The table of counters, and what is asked of it. */
import { defineEntity, p } from '@mikro-orm/core';
import type { Database } from '../../../src/storage/database/database.ts';
import type { Statement } from '../../../src/storage/database/pipelined-client.ts';
import { StoredTable } from '../../../src/storage/database/stored-table.ts';
import type { TeamCounter } from './counters.state.ts';

export const CounterEntity = defineEntity({
  name: 'Counter',
  tableName: 'counters',
  properties: { teamId: p.uuid().primary(), count: p.integer() },
});

export const storedCounters = StoredTable.of(CounterEntity);

export const selectCounters: Statement<TeamCounter> = {
  name: 'select_counters',
  text: `select ${storedCounters.columns()} from counters where team_id = any($1::uuid[])`,
};

export const upsertCounters = storedCounters.upsert('upsert_counters', ['count']);

export class CounterQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async count(teamId: string): Promise<number> {
    const { rows } = await this.#database.reader.query(selectCounters, [[teamId]]);
    return rows[0]?.count ?? 0;
  }

  /** Over all teams. */
  async sum(): Promise<number> {
    const { rows } = await this.#database.pool.query<{ sum: number }>(
      'select coalesce(sum(count), 0)::int4 as sum from counters',
    );
    return rows[0]!.sum;
  }

  /** The teams whose counters have reached the limit. */
  async full(countMax: number): Promise<string[]> {
    const { rows } = await this.#database.pool.query<{ id: string }>(
      'select team_id as id from counters where count >= $1',
      [countMax],
    );
    return rows.map(({ id }) => id);
  }
}
