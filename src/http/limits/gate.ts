import { NotAppended } from '../../log/event-log.ts';

interface Waiter {
  readonly team: string;
  readonly enter: () => void;
}

/**
 * Limits concurrency; the others wait in order, before they read their bodies.
 *
 * A team takes a place only while it holds fewer than are free. So one team alone gets at most half of the places, two get at most
 * three quarters together, and however slowly these send there is a place for the next team.
 */
export class Gate {
  readonly #max: number;
  readonly #waitMs: number;
  readonly #waiting = new Set<Waiter>();
  /** How many of each team are inside; teams with none are left out. */
  readonly #teams = new Map<string, number>();
  #inside = 0;

  /** `waitMs`: how long a caller waits for a place. */
  constructor(max: number, waitMs: number) {
    this.#max = max;
    this.#waitMs = waitMs;
  }

  /** Rejects with NotAppended if there was no place for this team in time. */
  async run<T>(team: string, work: () => Promise<T>): Promise<T> {
    // This overtakes no waiter that could enter: waiters enter as soon as there is a place for their team.
    if (this.#hasPlaceFor(team)) this.#enter(team);
    else await this.#wait(team);
    try {
      return await work();
    } finally {
      this.#leave(team);
    }
  }

  #hasPlaceFor(team: string): boolean {
    return (this.#teams.get(team) ?? 0) < this.#max - this.#inside;
  }

  #enter(team: string): void {
    this.#inside += 1;
    this.#teams.set(team, (this.#teams.get(team) ?? 0) + 1);
  }

  #leave(team: string): void {
    const left = this.#teams.get(team)! - 1;
    this.#inside -= 1;
    if (left === 0) this.#teams.delete(team);
    else this.#teams.set(team, left);
    // The longest waiter comes first, if there is a place for its team.
    for (const waiter of this.#waiting) {
      if (this.#inside === this.#max) break;
      if (this.#hasPlaceFor(waiter.team)) waiter.enter();
    }
  }

  #wait(team: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        this.#enter(team);
        resolve();
      };
      const waiter: Waiter = { team, enter };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        reject(new NotAppended('too many bodies are being read'));
      }, this.#waitMs);
      this.#waiting.add(waiter);
    });
  }
}
