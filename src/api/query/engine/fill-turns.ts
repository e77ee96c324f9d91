/**
 * Limits how many copies are filled at once, because each fill takes memory, a connection to Postgres and the thread.
 * Teams take turns: the next fill is one of the team with the fewest running fills, and of these the one that has
 * waited longest.
 */
export class FillTurns {
  readonly #atOnce: number;
  /** The number of running fills by team; teams without any are left out. */
  readonly #running = new Map<string, number>();
  readonly #waiting: { readonly teamId: string; readonly enter: () => void }[] = [];
  #used = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** How many fills are running. */
  get running(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Runs the work when its turn comes. If `gone` aborts before that, rejects with its reason. */
  async run<T>(teamId: string, gone: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(teamId, gone);
    try {
      return await work();
    } finally {
      this.#leave(teamId);
    }
  }

  async #enter(teamId: string, gone: AbortSignal): Promise<void> {
    gone.throwIfAborted();
    if (this.#used < this.#atOnce) {
      this.#count(teamId, 1);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(gone.reason as Error);
      };
      const waiter = {
        teamId,
        enter: () => {
          gone.removeEventListener('abort', giveUp);
          this.#count(teamId, 1);
          resolve();
        },
      };
      this.#waiting.push(waiter);
      gone.addEventListener('abort', giveUp, { once: true });
    });
  }

  #leave(teamId: string): void {
    this.#count(teamId, -1);
    const of = (waiter: { readonly teamId: string }): number => this.#running.get(waiter.teamId) ?? 0;
    const fewest = Math.min(...this.#waiting.map(of));
    const next = this.#waiting.findIndex((waiter) => of(waiter) === fewest);
    if (next !== -1) this.#waiting.splice(next, 1)[0]!.enter();
  }

  #count(teamId: string, by: 1 | -1): void {
    this.#used += by;
    const left = (this.#running.get(teamId) ?? 0) + by;
    if (left === 0) this.#running.delete(teamId);
    else this.#running.set(teamId, left);
  }
}
