/**
 * The locks of the model of Postgres: shared and exclusive, first come, first served. A holder that waits in a circle
 * fails after a second.
 */
import { clock } from './clock.ts';
import { postgresError } from './view.ts';

/** An owner of locks: a backend. */
export interface Holder {
  readonly isAlive: boolean;
  /** The locks that it holds until its transaction ends, and those until it ends itself. */
  readonly locks: Set<string>;
  readonly sessionLocks: Set<string>;
  /** The lock that it waits for. */
  waitsFor: string | null;
  /** How long it waits for a lock, in milliseconds; 0: for ever. */
  readonly lockTimeout: number;
}

interface Waiting {
  readonly holder: Holder;
  readonly isShared: boolean;
  readonly resolve: () => void;
}

interface Lock {
  readonly owners: Set<Holder>;
  isShared: boolean;
  waiting: Waiting[];
}

export interface Wanted {
  readonly name: string;
  readonly isShared: boolean;
}

/** How long a session waits for a lock before Postgres looks for a deadlock, in milliseconds (its default). */
const deadlockTimeout = 1000;

export class Locks {
  readonly #locks = new Map<string, Lock>();

  /** Resolves when the holder has the lock. Rejects if it waits for itself, and if its lock timeout has passed. */
  take({ name, isShared }: Wanted, holder: Holder): Promise<void> {
    if (!holder.isAlive) return new Promise(() => undefined);
    const lock = this.#locks.get(name) ?? { owners: new Set(), isShared, waiting: [] };
    this.#locks.set(name, lock);
    if (this.#give(lock, name, { holder, isShared })) return Promise.resolve();
    return new Promise((resolve, reject) => {
      holder.waitsFor = name;
      const giveUp = (code: string): void => {
        if (!lock.waiting.includes(waiting)) return;
        lock.waiting = lock.waiting.filter((other) => other !== waiting);
        holder.waitsFor = null;
        this.#pass(name, lock);
        reject(postgresError(code));
      };
      const timers = [
        clock.schedule(deadlockTimeout, () => (this.#isInCircle(holder) ? giveUp('40P01') : undefined), null),
        ...(holder.lockTimeout === 0 ? [] : [clock.schedule(holder.lockTimeout, () => giveUp('55P03'), null)]),
      ];
      const waiting = {
        holder,
        isShared,
        resolve: () => {
          for (const timer of timers) timer.isCleared = true;
          resolve();
        },
      };
      lock.waiting.push(waiting);
    });
  }

  /** Takes the lock for the session of the holder if nobody else has it. Returns whether it succeeded. */
  tryTake(wanted: Wanted, holder: Holder): boolean {
    const lock = this.#locks.get(wanted.name) ?? { owners: new Set(), isShared: wanted.isShared, waiting: [] };
    if (!this.#give(lock, wanted.name, { holder, isShared: wanted.isShared })) return false;
    this.#locks.set(wanted.name, lock);
    keepInSession(wanted.name, holder);
    return true;
  }

  /** Releases all locks in `held`. */
  release(held: Set<string>, holder: Holder): void {
    for (const name of held) {
      const lock = this.#locks.get(name);
      if (lock === undefined) continue;
      lock.owners.delete(holder);
      this.#pass(name, lock);
    }
    held.clear();
  }

  /** The holder has ended. */
  end(holder: Holder): void {
    const waited = holder.waitsFor === null ? undefined : this.#locks.get(holder.waitsFor);
    if (waited !== undefined) {
      waited.waiting = waited.waiting.filter((waiting) => waiting.holder !== holder);
      this.#pass(holder.waitsFor!, waited);
    }
    this.release(holder.locks, holder);
    this.release(holder.sessionLocks, holder);
  }

  /** Gives the lock if it is free. Returns whether it was given. */
  #give(lock: Lock, name: string, { holder, isShared }: Pick<Waiting, 'holder' | 'isShared'>): boolean {
    const { owners, waiting } = lock;
    const isAlone = owners.size === 0 || (owners.size === 1 && owners.has(holder));
    const isHeld = owners.has(holder);
    if (isHeld && (isShared || !lock.isShared)) return true;
    if (!isAlone && !(isShared && lock.isShared)) return false;
    // No holder overtakes those that wait.
    if (!isHeld && waiting.length > 0) return false;
    owners.add(holder);
    lock.isShared = isShared;
    holder.locks.add(name);
    return true;
  }

  #pass(name: string, lock: Lock): void {
    for (let [next] = lock.waiting; next !== undefined; [next] = lock.waiting) {
      const others = lock.waiting.slice(1);
      lock.waiting = [];
      const isGiven = !next.holder.isAlive || this.#give(lock, name, next);
      lock.waiting = isGiven ? others : [next, ...others];
      if (!isGiven) return;
      if (!next.holder.isAlive) continue;
      next.holder.waitsFor = null;
      next.resolve();
    }
    if (lock.owners.size === 0) this.#locks.delete(name);
  }

  /**
   * Whether the holder waits for a lock whose owners, or the waiters before it, wait for this holder, directly or
   * indirectly.
   */
  #isInCircle(holder: Holder): boolean {
    const seen = new Set<Holder>();
    const left = [holder];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const lock = at.waitsFor === null ? undefined : this.#locks.get(at.waitsFor);
      if (lock === undefined) continue;
      const before = lock.waiting.slice(
        0,
        lock.waiting.findIndex((waiting) => waiting.holder === at),
      );
      for (const other of [...lock.owners, ...before.map((waiting) => waiting.holder)]) {
        if (other === holder) return true;
        if (seen.has(other) || other === at) continue;
        seen.add(other);
        left.push(other);
      }
    }
    return false;
  }
}

/** The holder now has the lock until it ends. */
export function keepInSession(name: string, holder: Holder): void {
  holder.locks.delete(name);
  holder.sessionLocks.add(name);
}
