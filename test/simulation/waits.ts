/**
 * What waits in a simulated deployment: the calls of clients, and the connections of processes. It must not wait for
 * ever.
 */
import { clock } from './clock.ts';
import type { SimulatedDatabase } from './database.ts';

/** A call may take this long, in milliseconds of simulated time. */
const callLimit = 150_000;

/** Something waits that will never go on. The message says what. */
export class Deadlock extends Error {
  override readonly name = 'Deadlock';
}

interface Call {
  readonly what: string;
  readonly since: number;
}

export class Waits {
  readonly #calls = new Set<Call>();
  /** The connections of the processes that run. */
  readonly databases = new Set<SimulatedDatabase>();

  /** Notes that a client waits for `work`. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const call = { what, since: clock.now };
    this.#calls.add(call);
    try {
      return await work;
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Throws Deadlock if something has waited too long, or must wait for ever. */
  check(): void {
    const starved = [...this.databases].flatMap((database) => database.starved());
    const oldest = Math.min(...[...this.#calls].map(({ since }) => since));
    if (starved.length > 0 || clock.now - oldest > callLimit)
      throw new Deadlock(['something waits for ever:', ...starved, ...this.describe()].join('\n'));
  }

  /** The calls that are not answered, the oldest first, one sentence each. */
  describe(): string[] {
    const calls = [...this.#calls].toSorted((a, b) => a.since - b.since);
    return calls.map(({ what, since }) => `${what} has waited for ${Math.round(clock.now - since)} ms`);
  }
}
