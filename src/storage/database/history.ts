/**
 * The history of a Postgres database: its cluster and timeline. A standby that is promoted and a recovery to a point in
 * time begin a new timeline, and may lack the last commits of the old one
 * (https://www.postgresql.org/docs/current/continuous-archiving.html). A restart after a crash does not: it loses no
 * commit, unless the disk was put back to an earlier state.
 */
import type { Statement } from './pipelined-client.ts';

/** A connection of any kind. 64-bit integers come as bigint or as text. */
export interface Connection {
  query<Row extends object>(statement: Statement<Row>): Promise<{ readonly rows: readonly Row[] }>;
}

interface Present {
  /** The name of the present history. A standby has none: it takes no writes. */
  readonly history: string | null;
  /** When the server was started. */
  readonly started: string;
}

const selectPresent: Statement<Present> = {
  name: '',
  text: `select case when not pg_is_in_recovery() then
    (select system_identifier from pg_control_system()) || ' ' || substr(pg_walfile_name(pg_current_wal_insert_lsn()),
    1, 8) end as history,
    pg_postmaster_start_time()::text as started`,
};

/**
 * Postgres goes on from another history: commits that this process has seen may be gone, so its memory may be wrong.
 * The process must restart.
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
  #started: string | null = null;
  /** Set by `onRestarted`. Finds a loss of commits that leaves the name of the history as it was. */
  #checkRestarted: (connection: Connection) => Promise<void> = async () => undefined;

  /**
   * Rejects with HistoryChanged if the history differs from that of the first connection, and with IsStandby if the
   * server is a standby.
   */
  async check(connection: Connection): Promise<void> {
    await this.#check(connection);
  }

  /**
   * Does the same as `check`. On the first connections after a restart of the server, it also runs the check of
   * `onRestarted`, and rejects as that does.
   */
  async checkAfterRestart(connection: Connection): Promise<void> {
    const { started } = await this.#check(connection);
    if (this.#started !== started) await this.#checkRestarted(connection);
    this.#started = started;
  }

  /** The history of the first connection; null before there is one. */
  get known(): string | null {
    return this.#known;
  }

  /**
   * Sets the check to run after a restart of the server. A server may restart from an old copy of its disk: the same
   * history without its last commits. `check` compares the database with what this process has seen, and rejects with
   * HistoryChanged if commits are missing.
   */
  onRestarted(check: (connection: Connection) => Promise<void>): void {
    this.#checkRestarted = check;
  }

  /** Calls the listener once, with the reason, if the history has changed. */
  onChanged(listener: (reason: string) => void): void {
    void this.#changed.promise.then(listener);
  }

  async #check(connection: Connection): Promise<Present> {
    const {
      rows: [present],
    } = await connection.query(selectPresent);
    const { history, started } = present!;
    if (history === null) throw new IsStandby();
    this.#known ??= history;
    this.#started ??= started;
    if (this.#known === history) return present!;
    const reason = `Postgres goes on from another history (${history}, it was ${this.#known}): a standby was promoted, or a backup restored`;
    this.#changed.resolve(reason);
    throw new HistoryChanged(reason);
  }
}
