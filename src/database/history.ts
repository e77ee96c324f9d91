/**
 * The history of a Postgres database: its cluster and timeline. A standby that is promoted and a recovery to a point in time begin a
 * new timeline, and may lack the last commits of the old one (https://www.postgresql.org/docs/current/continuous-archiving.html).
 * A restart after a crash does not: it loses no commit.
 */
import type { Statement } from './pipelined-client.ts';

interface History {
  readonly history: string | null;
}

/** A connection of any kind. */
interface Connection {
  query(statement: Statement<History>): Promise<{ readonly rows: readonly History[] }>;
}

/** The name of the present history. A standby has none: it takes no writes. */
const selectHistory: Statement<History> = {
  name: '',
  text: `select case when not pg_is_in_recovery() then
    (select system_identifier from pg_control_system()) || ' ' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) end as history`,
};

/** The number of the timeline, as an SQL expression of type bigint. */
export const timeline = `('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int8`;

/**
 * Postgres goes on from another history: commits that this process has seen may be gone, and with them what it remembers is wrong.
 * The process has to start anew.
 */
export class HistoryChanged extends Error {
  override readonly name = 'HistoryChanged';
}

/** Postgres is a standby. It takes writes once it is promoted. */
export class IsStandby extends Error {
  override readonly name = 'IsStandby';

  constructor() {
    super('Postgres is a standby, which takes no writes');
  }
}

/** Compares the history of each new connection with that of the first one. */
export class HistoryGuard {
  readonly #changed = Promise.withResolvers<string>();
  #known: string | null = null;

  /** Rejects with HistoryChanged if it is another history than that of the first connection, and with IsStandby. */
  async check(connection: Connection): Promise<void> {
    const { rows: [row] } = await connection.query(selectHistory);
    const { history } = row!;
    if (history === null) throw new IsStandby();
    this.#known ??= history;
    if (this.#known === history) return;
    const reason = `Postgres goes on from another history (${history}, it was ${this.#known}): a standby was promoted, or a backup restored`;
    this.#changed.resolve(reason);
    throw new HistoryChanged(reason);
  }

  /** The history of the first connection; null before there is one. */
  get known(): string | null {
    return this.#known;
  }

  /** Calls the listener once, with the reason, if the history has changed. */
  onChanged(listener: (reason: string) => void): void {
    void this.#changed.promise.then(listener);
  }
}
