/**
 * Counts the bytes that teams append to the log and take on disks in a UTC day, and refuses teams that exceed a limit.
 * Each process counts in memory. Every few seconds it writes its counts to Postgres and reads the sums of all processes
 * (docs/decisions/0029), so no write waits for that.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Refusal } from '../../language/values/refusal.ts';
import { planRefusal, settingRefusal } from '../../language/events/quota.ts';
import { largeLruCache } from '../large-lru-cache.ts';
import { exceededShare, type DiskRoom, type TakenBytes } from './disk-share.ts';
import {
  dayOf,
  forgetLogBytes,
  hasSeveralTeams,
  noteLogBytes,
  readLogBytes,
  type NotedLogBytes,
} from './log-bytes-notes.ts';

/** Interval of writing and reading counts, in milliseconds. */
const noteInterval = 2000;

/** A reading of the disks is valid for this many intervals. */
const roomIntervals = 3;

/** The sums of this many teams are kept: of the teams that wrote last. */
const teamsMax = 100_000;

interface LogBytesOptions {
  readonly pool: pg.Pool;
  /** The log's time, in milliseconds since 1970. */
  readonly now: () => number;
  /** The limit for teams whose plan has none, in bytes a day; undefined: unlimited. */
  readonly settingMax: number | undefined;
  /** Reads the disks that teams share; null: disks are not limited. */
  readonly lookAtDisks: (() => Promise<readonly DiskRoom[]>) | null;
  readonly logger: Pick<Logger, 'warn'>;
  readonly interval?: number;
}

type Known = Omit<NotedLogBytes, 'teamId'>;

const nothing: TakenBytes = { log: 0, tables: 0, files: 0 };

function sum(one: TakenBytes, { log = 0, tables = 0, files = 0 }: Partial<TakenBytes>): TakenBytes {
  return { log: one.log + log, tables: one.tables + tables, files: one.files + files };
}

/** The refusal if a team has used up its bytes of the day; null if it may append more. Pure. */
export function exceededLogBytes(
  { used, planMax }: Pick<Known, 'used' | 'planMax'>,
  settingMax: number | undefined,
): Refusal | null {
  const max = planMax ?? settingMax ?? Infinity;
  if (used < max) return null;
  return planMax === null
    ? { type: 'limit_exceeded', message: settingRefusal('logBytesPerDay', used, max) }
    : { type: 'payment_required', message: planRefusal('logBytesPerDay', used, max) };
}

export class LogBytes {
  readonly #options: LogBytesOptions;
  readonly #timer: NodeJS.Timeout;
  #day: string;
  /** The sums of all processes at the last reading. */
  readonly #known = largeLruCache<string, Known>(teamsMax);
  /** The counts that are not written yet, and the counts that are being written. */
  #pending = new Map<string, TakenBytes>();
  #noting: ReadonlyMap<string, TakenBytes> = new Map();
  /** The disks at the time `#lookedAt`; empty while there is only one team. */
  #rooms: readonly DiskRoom[] = [];
  #lookedAt = -Infinity;
  #areSeveral = false;
  /** The teams that were refused today because of their share of a disk. */
  readonly #told = new Set<string>();
  /** The teams whose sums were needed since the last reading. */
  #asked = new Set<string>();
  #working: Promise<void> | null = null;

  constructor(options: LogBytesOptions) {
    this.#options = options;
    this.#day = dayOf(options.now());
    this.#timer = setInterval(() => {
      this.#working ??= this.#work().finally(() => {
        this.#working = null;
      });
    }, options.interval ?? noteInterval);
  }

  /** The refusal if the team may append nothing more today; null if it may, or if this process does not know yet. */
  refusalOf(teamId: string): Refusal | null {
    const found = this.#find(teamId);
    return found === null
      ? null
      : exceededLogBytes({ used: found.taken.log, planMax: found.planMax }, this.#options.settingMax);
  }

  /**
   * The refusal if the team may take no more of a disk today, for its tables or its files; null if it may, or if this
   * process does not know yet.
   */
  refusalOfShare(teamId: string, what: 'tables' | 'files'): Refusal | null {
    const { lookAtDisks, logger, interval = noteInterval } = this.#options;
    if (lookAtDisks === null) return null;
    const found = this.#find(teamId);
    if (found === null || performance.now() - this.#lookedAt > roomIntervals * interval) return null;
    const refusal = exceededShare(found.taken, this.#rooms, what);
    if (refusal !== null && !this.#told.has(teamId)) {
      this.#told.add(teamId);
      logger.warn(
        { teamId, ...found.taken, disks: this.#rooms },
        'a team has taken its share of the disk for today: its writes are refused until more space is left than it took',
      );
    }
    return refusal;
  }

  /** The bytes of the team today, and the limit of its plan; null if this process does not know them. */
  #find(teamId: string): { readonly taken: TakenBytes; readonly planMax: number | null } | null {
    this.#asked.add(teamId);
    const known = dayOf(this.#options.now()) === this.#day ? this.#known.get(teamId) : undefined;
    if (known === undefined) return null;
    const { used: log, tables, files, planMax } = known;
    return {
      taken: [this.#pending, this.#noting].reduce((taken, more) => sum(taken, more.get(teamId) ?? nothing), {
        log,
        tables,
        files,
      }),
      planMax,
    };
  }

  /** The bytes that the team has appended today: the sums in Postgres, and the counts of this process. */
  async usedBy(teamId: string): Promise<number> {
    const { pool, now } = this.#options;
    const [noted] = await readLogBytes(pool, dayOf(now()), [teamId]);
    return (noted?.used ?? 0) + (this.#pending.get(teamId)?.log ?? 0);
  }

  /** Counts bytes that the team has appended or taken. */
  add(teamId: string, bytes: Partial<TakenBytes>): void {
    this.#pending.set(teamId, sum(this.#pending.get(teamId) ?? nothing, bytes));
  }

  /** Writes the remaining counts. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#working;
    await this.#work();
  }

  async #work(): Promise<void> {
    if (this.#pending.size === 0 && this.#asked.size === 0) return;
    const { pool, now, logger } = this.#options;
    const asked = this.#asked;
    this.#noting = this.#pending;
    [this.#pending, this.#asked] = [new Map(), new Set()];
    try {
      if (this.#noting.size > 0) await noteLogBytes(pool, this.#day, this.#noting);
    } catch (error) {
      logger.warn(
        { err: error },
        'the bytes that teams appended to the log could not be written; another attempt follows',
      );
      for (const [teamId, bytes] of this.#noting) this.add(teamId, bytes);
      for (const teamId of asked) this.#asked.add(teamId);
      this.#noting = new Map();
      return;
    }
    try {
      const day = dayOf(now());
      if (day !== this.#day) await this.#begin(day);
      await this.#look();
      for (const { teamId, ...known } of await readLogBytes(pool, day, [...asked, ...this.#noting.keys()]))
        this.#known.set(teamId, known);
    } catch (error) {
      logger.warn(
        { err: error },
        'the bytes that teams have appended to the log could not be read; another attempt follows',
      );
      for (const teamId of asked) this.#asked.add(teamId);
    } finally {
      this.#noting = new Map();
    }
  }

  async #look(): Promise<void> {
    const { pool, lookAtDisks } = this.#options;
    if (lookAtDisks === null) return;
    this.#areSeveral ||= await hasSeveralTeams(pool);
    this.#rooms = this.#areSeveral ? await lookAtDisks() : [];
    this.#lookedAt = performance.now();
  }

  async #begin(day: string): Promise<void> {
    this.#known.clear();
    this.#told.clear();
    this.#day = day;
    await forgetLogBytes(this.#options.pool, day);
  }
}
