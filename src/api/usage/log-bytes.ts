/**
 * Counts the bytes that teams append to the log and take on disks in a UTC day, and says which have had enough. Counted
 * in the memory of each process, which notes its counts every few seconds and reads those of all processes
 * (docs/decisions/0029): no write waits for it.
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

/** How often counts are noted and read, in milliseconds. */
const noteInterval = 2000;

/** A look at the disks counts for this many intervals. */
const roomIntervals = 3;

/** The totals of this many teams are known, those that wrote last. */
const teamsMax = 100_000;

interface LogBytesOptions {
  readonly pool: pg.Pool;
  /** The log's time, in milliseconds since 1970. */
  readonly now: () => number;
  /** The most bytes a day of a team whose plan says nothing; undefined: unlimited. */
  readonly settingMax: number | undefined;
  /** Looks at the disks that teams share; null: what a team takes of them has no limit. */
  readonly lookAtDisks: (() => Promise<readonly DiskRoom[]>) | null;
  readonly logger: Pick<Logger, 'warn'>;
  readonly interval?: number;
}

type Known = Omit<NotedLogBytes, 'teamId'>;

const nothing: TakenBytes = { log: 0, tables: 0, files: 0 };

function sum(one: TakenBytes, { log = 0, tables = 0, files = 0 }: Partial<TakenBytes>): TakenBytes {
  return { log: one.log + log, tables: one.tables + tables, files: one.files + files };
}

/** Why a team that has used so much may append nothing more in the day; null if it may. Pure. */
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
  /** What all processes had noted, when it was last read. */
  readonly #known = largeLruCache<string, Known>(teamsMax);
  /** What is not noted yet, and what is being noted. */
  #pending = new Map<string, TakenBytes>();
  #noting: ReadonlyMap<string, TakenBytes> = new Map();
  /** The disks, as they were at the time of `#lookedAt`; none while one team has them for itself. */
  #rooms: readonly DiskRoom[] = [];
  #lookedAt = -Infinity;
  #areSeveral = false;
  /** The teams that were refused today because of their share of a disk. */
  readonly #told = new Set<string>();
  /** The teams that have asked since the totals were last read. */
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

  /** Why the team may append nothing more today; null if it may, or if this process does not know it yet. */
  refusalOf(teamId: string): Refusal | null {
    const found = this.#find(teamId);
    return found === null
      ? null
      : exceededLogBytes({ used: found.taken.log, planMax: found.planMax }, this.#options.settingMax);
  }

  /**
   * Why the team may take no more of a disk today, for its tables or its files; null if it may, or if this process does
   * not know it yet.
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
        'a team has taken its share of the disk for today: its writes are refused while no more is left than it took',
      );
    }
    return refusal;
  }

  /** What the team has taken today, and what its plan allows; null if this process does not know. */
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

  /** How much the team has appended today, as far as this process knows: of other processes what they have noted. */
  async usedBy(teamId: string): Promise<number> {
    const { pool, now } = this.#options;
    const [noted] = await readLogBytes(pool, dayOf(now()), [teamId]);
    return (noted?.used ?? 0) + (this.#pending.get(teamId)?.log ?? 0);
  }

  /** The team has appended or taken bytes. */
  add(teamId: string, bytes: Partial<TakenBytes>): void {
    this.#pending.set(teamId, sum(this.#pending.get(teamId) ?? nothing, bytes));
  }

  /** Notes the remaining bytes. */
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
      logger.warn({ err: error }, 'the bytes that teams appended to the log could not be noted; it is tried again');
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
      logger.warn({ err: error }, 'the bytes that teams have appended to the log could not be read; it is tried again');
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
