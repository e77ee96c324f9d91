/**
 * Watches the heads of the log in Postgres, and the clock of the server. Another process may append with a read model
 * of another version. It does not project its events into this read model, so this process must. A head that falls
 * shows that Postgres lost commits.
 */
import type { Logger } from 'pino';
import type pg from 'pg';
import { HistoryChanged, type Connection } from '../../storage/database/history.ts';
import type { Statement } from '../../storage/database/pipelined-client.ts';
import { parseHeldTeams, type HeldTeams } from '../quarantine/held-teams.ts';
import { logSchema } from './log-tables.ts';

/**
 * The interval of reads of the heads, in milliseconds. Requests do not wait for it: `reachHead` reads the heads itself.
 */
const lookInterval = 500;

/** The head of a partition, and the progress of its read model. */
export interface Head {
  readonly next: string | bigint;
  readonly projected: string | bigint;
  /** The version after that of the last event. */
  readonly version: string | bigint;
  readonly serverTime: string | bigint;
  readonly held: string;
}

export const selectHeads: Statement<Head> = {
  name: 'select_heads',
  text: `select heads.next, progress.next as projected, progress.held, progress.base + heads.next as version,
      (extract(epoch from clock_timestamp()) * 1000)::int8 as "serverTime"
    from ${logSchema}.heads join progress using (partition) order by partition`,
};

interface HeadWatchOptions {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly onTime: (serverTime: number) => void;
  /** The teams of a partition that are in quarantine. */
  readonly onHeld: (partition: number, held: HeldTeams) => void;
  /** The read model is behind the head of this partition. */
  readonly onBehind: (partition: number) => Promise<void>;
  /**
   * The head of a partition has fallen. `versions`: for each partition, the version after the last one that this
   * process knew.
   */
  readonly onFallen: (partition: number, versions: readonly bigint[]) => void;
}

export class HeadWatch {
  readonly #options: HeadWatchOptions;
  /** For each partition, the highest version after the last event that this process has seen. */
  #versions: bigint[] = [];
  /** For each partition, the version of the event at offset 0, when the heads were last read. */
  #bases: readonly bigint[] = [];
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;

  constructor(options: HeadWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, lookInterval);
  }

  /** Records that this process has written to a partition, up to `next`. */
  landed(partition: number, next: bigint): void {
    const base = this.#bases[partition];
    if (base !== undefined) this.#versions[partition] = max(base + next, this.#versions[partition]!);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /**
   * Checks over a connection to a server that was restarted. Rejects with HistoryChanged if the server lost commits.
   */
  async check(connection: Connection): Promise<void> {
    const known = [...this.#versions];
    const { rows } = await connection.query(selectHeads);
    if (this.#hasFallen(rows, known)) throw new HistoryChanged('Postgres lost commits');
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { pool, logger, onTime, onHeld, onBehind } = this.#options;
    try {
      const known = [...this.#versions];
      const { rows } = await pool.query<Head>(selectHeads);
      onTime(Number(rows[0]!.serverTime));
      if (this.#hasFallen(rows, known)) return;
      for (const [partition, { held }] of rows.entries()) onHeld(partition, parseHeldTeams(held));
      // All partitions at once, so that no partition waits for another one that is far behind.
      await Promise.all(
        rows.flatMap(({ next, projected }, partition) =>
          BigInt(projected) < BigInt(next) ? [onBehind(partition)] : [],
        ),
      );
    } catch (error) {
      // When Postgres is away, requests report it.
      logger.debug({ err: error }, 'the heads of the log could not be read');
    }
  }

  /** Whether a head is below the one that was known before the heads were read. */
  #hasFallen(heads: readonly Head[], known: readonly bigint[]): boolean {
    this.#bases = heads.map(({ version, next }) => BigInt(version) - BigInt(next));
    this.#versions = heads.map(({ version }, partition) => max(BigInt(version), this.#versions[partition] ?? 0n));
    const fallen = heads.findIndex(({ version }, partition) => BigInt(version) < (known[partition] ?? 0n));
    if (fallen === -1) return false;
    this.#options.onFallen(fallen, this.#versions);
    return true;
  }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
