/** The waits in a simulated deployment: calls of clients, and connections of processes. Nothing may wait for ever. */
import { clock } from './clock.ts';
import type { SimulatedDatabase } from './database.ts';

/** How long a call may take, in milliseconds of simulated time. */
const callLimit = 150_000;

/** A wait that will never end. The message names it. */
export class Deadlock extends Error {
  override readonly name = 'Deadlock';
}

interface Call {
  readonly what: string;
  readonly since: number;
}

export class Waits {
  readonly #calls = new Set<Call>();
  /** The connections of the running processes. */
  readonly databases = new Set<SimulatedDatabase>();

  /** Records that a client waits for `work`. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const call = { what, since: clock.now };
    this.#calls.add(call);
    try {
      return await work;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Throws Deadlock if a call has waited too long, or a connection must wait for ever. */
  check(): void {
    const starved = [...this.databases].flatMap((database) => database.starved());
    const oldest = Math.min(...[...this.#calls].map(({ since }) => since));
    if (starved.length > 0 || clock.now - oldest > callLimit)
      throw new Deadlock(['something waits for ever:', ...starved, ...this.describe()].join('\n'));
  }

  /** The unanswered calls, the oldest first, one sentence each. */
  describe(): string[] {
    const calls = [...this.#calls].toSorted((a, b) => a.since - b.since);
    return calls.map(({ what, since }) => `${what} has waited for ${Math.round(clock.now - since)} ms`);
  }
}
