/**
 * Surrogate keys: short numbers for segments, extents and the like, unique within the read model. A process takes a thousand at a time
 * from a sequence, so that a decision can hand them out without a query. Replay does not compare them.
 */
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';

const keysAtOnce = 1000;

/** Run when the read model is created. */
export const createLocalKeys = `create sequence local_keys increment by ${keysAtOnce}`;

const nextKeys: Statement<{ first: bigint }> = {
  name: 'next_local_keys',
  text: `select nextval('local_keys') as first from generate_series(1, $1)`,
};

/** The keys that this process has taken from the sequence and may hand out. */
export class LocalKeys {
  #free: bigint[] = [];

  /** Opens a reservation for one batch. Batches are loaded concurrently, so each needs keys of its own. */
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

/** The keys reserved for one batch. Unused ones are lost; the sequence has plenty. */
export class KeyReservation {
  readonly #give: (tx: Tx, count: number) => Promise<bigint[]>;
  #keys: bigint[] = [];
  /** How many of them are reserved and not taken yet. */
  #promised = 0;

  constructor(give: (tx: Tx, count: number) => Promise<bigint[]>) {
    this.#give = give;
  }

  /** Reserves `count` more keys, which `take` then gives without waiting. */
  async reserve(tx: Tx, count: number): Promise<void> {
    this.#promised += count;
    const missing = this.#promised - this.#keys.length;
    if (missing <= 0) return;
    const given = await this.#give(tx, missing);
    // Not `push(...given)`: an import reserves more keys than a call can take arguments.
    this.#keys = this.#keys.concat(given);
  }

  /** Throws when every reserved key is taken. */
  take(): bigint {
    const key = this.#keys.pop();
    if (key === undefined) throw new Error('a local key was taken that nobody had reserved');
    this.#promised -= 1;
    return key;
  }
}
