/**
 * Short numbers for things of the read model, such as segments and extents, unique within it. A process takes a thousand at a time from
 * a sequence, so that a decision can hand them out without a query. They are no part of the state that replay compares.
 */
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';

const keysAtOnce = 1000;

/** Run when the read model is made. */
export const createLocalKeys = `create sequence local_keys increment by ${keysAtOnce}`;

const nextKeys: Statement<{ first: bigint }> = {
  name: 'next_local_keys',
  text: `select nextval('local_keys') as first from generate_series(1, $1)`,
};

/** The keys that this process may hand out. */
export class LocalKeys {
  #free: bigint[] = [];

  /** Opens a reservation for one batch. Several are filled at once, so none may count on keys that all can take. */
  open(): KeyReservation {
    return new KeyReservation((tx, count) => this.#give(tx, count));
  }

  async #give(tx: Tx, count: number): Promise<bigint[]> {
    while (this.#free.length < count) {
      const { rows } = await tx.query(nextKeys, [Math.ceil((count - this.#free.length) / keysAtOnce)]);
      for (const { first } of rows) {
        for (let i = 0; i < keysAtOnce; i += 1) this.#free.push(first + BigInt(i));
      }
    }
    return this.#free.splice(0, count);
  }
}

/** Keys for one batch. Those that it does not take are never used: there are enough of them. */
export class KeyReservation {
  readonly #give: (tx: Tx, count: number) => Promise<bigint[]>;
  #keys: bigint[] = [];
  /** How many of them somebody counts on. */
  #promised = 0;

  constructor(give: (tx: Tx, count: number) => Promise<bigint[]>) {
    this.#give = give;
  }

  /** Makes sure that `count` more keys can be taken without waiting. */
  async reserve(tx: Tx, count: number): Promise<void> {
    this.#promised += count;
    const missing = this.#promised - this.#keys.length;
    if (missing <= 0) return;
    const given = await this.#give(tx, missing);
    // An import takes more keys than a call takes arguments.
    this.#keys = this.#keys.concat(given);
  }

  /** Throws when none is left of those that were reserved. */
  take(): bigint {
    const key = this.#keys.pop();
    if (key === undefined) throw new Error('a local key was taken that nobody had reserved');
    this.#promised -= 1;
    return key;
  }
}
