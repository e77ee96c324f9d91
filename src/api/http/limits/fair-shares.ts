/**
 * Shares a resource of the process among teams, such as bytes of memory or places for work, so that no team takes it
 * from the others. A request that finds nothing left waits, and is refused after a while.
 */
import { HttpError, noEffect } from '../answers/http-error.ts';

/** The resources that are shared (docs/reference/limits.md). */
export const shareNames = [
  'bodies',
  'pages',
  'queries',
  'sql',
  'exports',
  'outgoing_bytes',
  'writes',
  'signed_puts',
] as const;
export type ShareName = (typeof shareNames)[number];

/** Why a request was refused: its team has used up its share, or all teams together have used up everything. */
export type RefusedBy = 'team' | 'process';

export interface FairSharesOptions {
  readonly name: ShareName;
  /** How many units there are. */
  readonly capacity: number;
  /** Who shares the units; teams by default. The comments below say `team` for all of them. */
  readonly holder?: 'team' | 'upload' | 'team or client address';
  /** Maximum of units that one team holds; by default as many as its share allows. */
  readonly eachAtMost?: number;
  /** Maximum of units that one team holds while several teams take units. */
  readonly eachWhenShared?: number;
  /** How many units only a team that holds none may take; by default none. */
  readonly kept?: number;
  /** How long a request waits for its units, in milliseconds. */
  readonly waitMs: number;
  /** Called when a request is refused. */
  readonly onRefused: (name: ShareName, by: RefusedBy) => void;
}

/** Holds units for as long as a client sends or reads. */
interface SlowHolder {
  /** Whether its client is slow (slow-clients.ts). */
  readonly isSlow: () => boolean;
  /** Ends the work that holds the units, so that they are released soon. Called at most once. */
  readonly end: () => void;
}

/** The units that a request holds. */
export interface Share {
  /** Allows to end this request if it is slow while teams that hold nothing find no units. */
  mayBeEnded(holder: SlowHolder): void;
  /** Releases all but `units` units. */
  shrink(units: number): void;
  /** Releases all units. May be called again. */
  release(): void;
}

interface Holding {
  readonly team: string;
  readonly units: () => number;
  readonly holder: SlowHolder;
}

interface Waiter {
  readonly order: number;
  readonly units: number;
  readonly enter: () => void;
}

/** How long a resource counts as shared after two teams have taken units, in milliseconds. */
const sharedFor = 1000;

/** Interval between checks for slow clients while a request waits, in milliseconds. */
const relieveMs = 500;

/**
 * A team gets more units only if it then holds no more than remain free. So one team alone gets at most a half, two
 * teams get at most three quarters together, and the next team finds some, however long the others keep theirs. A team
 * that holds nothing may take all free units; `kept` units are for such teams. If many teams hold all units, and a team
 * that holds nothing waits, requests of slow clients lose their units.
 */
export class FairShares {
  readonly #options: FairSharesOptions;
  /** The units that each team holds. Teams that hold none are left out. */
  readonly #held = new Map<string, number>();
  readonly #waiting = new Map<string, Waiter[]>();
  /** The holdings that may be ended. */
  readonly #holdings = new Set<Holding>();
  /** Runs while a request waits. */
  #relief: NodeJS.Timeout | null = null;
  #used = 0;
  #arrivals = 0;
  /** The team that asked last, and when the asking team last changed. */
  #asked: string | null = null;
  #sharedAt = -Infinity;

  constructor(options: FairSharesOptions) {
    this.#options = options;
  }

  get name(): ShareName {
    return this.#options.name;
  }

  get capacity(): number {
    return this.#options.capacity;
  }

  /** How many units are held. */
  get used(): number {
    return this.#used;
  }

  /** Holds units while it does some work. Rejects as `take` does. */
  async run<T>(team: string, work: () => Promise<T>, units = 1): Promise<T> {
    const share = await this.take(team, units);
    try {
      return await work();
    } finally {
      share.release();
    }
  }

  /**
   * Takes units, at once if they are free. A request for more than `capacity` takes all units. Rejects with HttpError
   * if the units do not become free in time: `rate_limited` if the team itself holds most, otherwise
   * `service_unavailable`.
   */
  take(team: string, asked: number): Share | Promise<Share> {
    const units = Math.min(asked, this.#options.capacity);
    if (this.#options.eachWhenShared !== undefined && team !== this.#asked) {
      if (this.#asked !== null) this.#sharedAt = performance.now();
      this.#asked = team;
    }
    // This overtakes nobody: a waiter enters as soon as there is room for its team.
    if (!this.#waiting.has(team) && this.#hasRoomFor(team, units)) return this.#enter(team, units);
    return this.#wait(team, units);
  }

  #hasRoomFor(team: string, units: number): boolean {
    const held = this.#held.get(team) ?? 0;
    const { capacity, eachAtMost = capacity, eachWhenShared = eachAtMost, kept = 0 } = this.#options;
    const left = capacity - this.#used;
    const most = performance.now() - this.#sharedAt < sharedFor ? eachWhenShared : eachAtMost;
    return units <= left && (held === 0 || (held + units <= Math.min(left, most) && units <= left - kept));
  }

  #enter(team: string, units: number): Share {
    this.#used += units;
    this.#held.set(team, (this.#held.get(team) ?? 0) + units);
    let left = units;
    let holding: Holding | null = null;
    const shrink = (to: number): void => {
      if (to >= left) return;
      const given = left - to;
      left = to;
      if (to === 0 && holding !== null) this.#holdings.delete(holding);
      this.#giveBack(team, given);
    };
    const mayBeEnded = (holder: SlowHolder): void => {
      holding = { team, units: () => left, holder };
      this.#holdings.add(holding);
    };
    return { mayBeEnded, shrink, release: () => shrink(0) };
  }

  /** Ends slow holders, those of the team that holds most first, until waiting teams that hold nothing find room. */
  #relieve(): void {
    let missing = this.#used - this.#options.capacity;
    for (const [team, [first]] of this.#waiting) if (!this.#held.has(team)) missing += first!.units;
    if (missing <= 0) return;
    const slow = [...this.#holdings]
      .filter(({ holder }) => holder.isSlow())
      .toSorted((one, other) => (this.#held.get(other.team) ?? 0) - (this.#held.get(one.team) ?? 0));
    for (const holding of slow) {
      if (missing <= 0) return;
      missing -= holding.units();
      this.#holdings.delete(holding);
      holding.holder.end();
    }
  }

  #giveBack(team: string, units: number): void {
    const left = this.#held.get(team)! - units;
    this.#used -= units;
    if (left === 0) this.#held.delete(team);
    else this.#held.set(team, left);
    for (let next = this.#next(); next !== null; next = this.#next()) next.enter();
  }

  /**
   * The waiter to serve next: considers the first waiter of each team, skips those for whom there is no room, and takes
   * the one that has waited longest.
   */
  #next(): Waiter | null {
    let next: Waiter | null = null;
    for (const [team, [first]] of this.#waiting) {
      if ((next === null || first!.order < next.order) && this.#hasRoomFor(team, first!.units)) next = first!;
    }
    return next;
  }

  #wait(team: string, units: number): Promise<Share> {
    return new Promise((resolve, reject) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        const queue = this.#waiting.get(team)!;
        queue.splice(queue.indexOf(waiter), 1);
        if (queue.length === 0) this.#waiting.delete(team);
        if (this.#waiting.size > 0 || this.#relief === null) return;
        clearInterval(this.#relief);
        this.#relief = null;
      };
      const enter = (): void => {
        stopWaiting();
        resolve(this.#enter(team, units));
      };
      const timer = setTimeout(() => {
        stopWaiting();
        reject(this.#refusal(team));
      }, this.#options.waitMs);
      const waiter: Waiter = { order: this.#arrivals, units, enter };
      this.#arrivals += 1;
      this.#relief ??= setInterval(() => this.#relieve(), relieveMs);
      const queue = this.#waiting.get(team);
      if (queue === undefined) this.#waiting.set(team, [waiter]);
      else queue.push(waiter);
    });
  }

  #refusal(team: string): HttpError {
    const { name, waitMs, holder = 'team', onRefused } = this.#options;
    const held = this.#held.get(team) ?? 0;
    const isOwn = held > 0 && [...this.#held.values()].every((others) => others <= held);
    onRefused(name, isOwn ? 'team' : 'process');
    if (!isOwn) return new HttpError('service_unavailable', `The service is too busy. ${noEffect}`);
    const message = `The ${holder} has too many requests in progress: this one found no room in ${waitMs / 1000} s (${name}). ${noEffect}`;
    return new HttpError('rate_limited', message);
  }
}
