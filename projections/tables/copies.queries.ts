/** Reads tables for their copies (src/api/query), in a snapshot: which tables there are, and their contents. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { TableSnapshot } from './table-snapshot.ts';

const beginSnapshot: Statement = { name: 'begin_snapshot', text: 'begin isolation level repeatable read read only' };
const endSnapshot: Statement = { name: 'end_snapshot', text: 'commit' };

const selectExisting: Statement<{ readonly id: string }> = {
  name: 'copy_existing',
  text: 'select id from tables where id = any($1::uuid[]) and not deleted',
};

/**
 * Tables by the ID or name that a query uses. Two results for a name are enough to show that it is not unique. If the
 * team exists, there is at least one row.
 */
const selectNamed: Statement<{
  readonly suspended: boolean;
  readonly asked: string | null;
  readonly id: string | null;
}> = {
  name: 'copy_named',
  text: `select teams.suspended, asked.name as asked, found.id from teams
    left join unnest($3::text[]) as asked (name) on true
    left join lateral (
      select id from tables where team_id = teams.id and not deleted
      and (name = asked.name or id::text = lower(asked.name))
        and ($2::text is null or exists (select from app_links where app_links.table_id = tables.id
        and app_links.app_id = $2))
      order by id::text <> lower(asked.name) limit 2
    ) found on true
    where teams.id = $1`,
};

/** A table whose name differs only in case. */
const selectAlike: Statement<{ readonly name: string }> = {
  name: 'copy_alike',
  text: `select name from tables where team_id = $1 and not deleted and lower(name) = lower($3)
    and ($2::text is null or exists (select from app_links where app_links.table_id = tables.id
    and app_links.app_id = $2)) limit 1`,
};

export class CopyQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Reads tables as of one moment. The snapshot includes every write that was acknowledged before the call. */
  async inSnapshot<T>(work: (snapshot: TableSnapshot) => Promise<T>): Promise<T> {
    return this.#database.scans.with(async (client) => {
      void client.query(beginSnapshot);
      try {
        return await work(new TableSnapshot(client));
      } finally {
        if (!client.broken) await client.query(endSnapshot);
      }
    });
  }

  /**
   * The tables with these names or IDs, of a team, or of those linked to an app: one for each, or two if a name is not
   * unique. An ID takes precedence over a name.
   */
  async tablesNamed(
    teamId: string,
    appId: string | null,
    names: readonly string[],
  ): Promise<{ readonly isSuspended: boolean; readonly tables: ReadonlyMap<string, readonly string[]> }> {
    const { rows } = await this.#database.scans.with((client) => client.query(selectNamed, [teamId, appId, names]));
    const tables = new Map<string, string[]>();
    for (const { asked, id } of rows) {
      if (asked === null || id === null || tables.get(asked)?.[0] === asked.toLowerCase()) continue;
      tables.set(asked, [...(tables.get(asked) ?? []), id]);
    }
    return { isSuspended: rows.some(({ suspended }) => suspended), tables };
  }

  /**
   * The name of a table of the team, or linked to the app, that differs from this name only in case. Empty if there is
   * none.
   */
  async tableAlike(teamId: string, appId: string | null, name: string): Promise<readonly string[]> {
    const { rows } = await this.#database.scans.with((client) => client.query(selectAlike, [teamId, appId, name]));
    return rows.map((row) => row.name);
  }

  /** Which of these tables exist and are not deleted. */
  async existing(tableIds: readonly string[]): Promise<Set<string>> {
    const { rows } = await this.#database.scans.with((client) => client.query(selectExisting, [tableIds]));
    return new Set(rows.map(({ id }) => id));
  }
}
