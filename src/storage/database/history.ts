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
 * Postgres goes on from another history: commits that this process has seen may be gone, and with them what it
 * remembers is wrong. The process has to start anew.
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
  /** Checks what no name of a history tells. */
  #checkRestarted: (connection: Connection) => Promise<void> = async () => undefined;

  /** Rejects with HistoryChanged if it is another history than that of the first connection, and with IsStandby. */
  async check(connection: Connection): Promise<void> {
    await this.#check(connection);
  }

  /**
   * The same, and, on the first connections after a restart of the server, rejects as the check of `onRestarted` does.
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
   * The server may have been started from an old copy of its disk, which is the same history without its end. `check`
   * compares what it has with what this process knows, and rejects with HistoryChanged.
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
