/**
 * Surrogate keys: short numbers for segments, extents and the like, unique within the read model. A process takes a
 * thousand at a time from a sequence, so that a decision can hand them out without a query. Replay does not compare
 * them.
 */
import type { Statement, Tx } from '../../storage/database/pipelined-client.ts';
import { isDuplicateOutcome } from '../outcomes/outcomes.store.ts';

const keysAtOnce = 1000;

/** Run when the read model is created. */
export const createLocalKeys = `create sequence local_keys increment by ${keysAtOnce}`;

const nextKeys: Statement<{ first: bigint }> = {
  name: 'next_local_keys',
  text: `select nextval('local_keys') as first from generate_series(1, $1)`,
};

/** How often a write that meets taken keys is tried. Each time, the rest of a thousand keys is dropped. */
const attemptsMax = 20;

/**
 * Whether a write failed because a key is taken. If Postgres loses commits, the sequence issues keys again that
 * processes still hand out. The memory of these processes may then be wrong, too. It is also wrong if a change of a row
 * is inserted as the row's first one, and the row already has a change (`projections/tables/changed-rows.ts`).
 */
export function isKeyTaken(error: unknown): boolean {
  return (error as { code?: unknown }).code === '23505' && !isDuplicateOutcome(error);
}

/**
 * Runs a write that stores nothing if it fails. If a key is taken, runs the write again after `forget`, which must drop
 * all reserved keys.
 */
export async function withFreeKeys<T>(forget: () => void, write: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isKeyTaken(error)) throw error;
      forget();
      if (attempt === attemptsMax) throw error;
    }
  }
}

/** The keys that this process has taken from the sequence and may hand out. */
export class LocalKeys {
  #free: bigint[] = [];

  /** Drops the keys that are not reserved for a batch. */
  forget(): void {
    this.#free = [];
  }

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

/** The keys reserved for one batch. Unused keys are lost, but the sequence has plenty. */
export class KeyReservation {
  readonly #give: (tx: Tx, count: number) => Promise<bigint[]>;
  #keys: readonly bigint[] = [];
  /** How many of the keys are taken, and how many more are reserved. */
  #taken = 0;
  #promised = 0;

  constructor(give: (tx: Tx, count: number) => Promise<bigint[]>) {
    this.#give = give;
  }

  /** Reserves `count` more keys, which `take` then returns without waiting. */
  async reserve(tx: Tx, count: number): Promise<void> {
    this.#promised += count;
    const missing = this.#promised - (this.#keys.length - this.#taken);
    if (missing <= 0) return;
    const given = await this.#give(tx, missing);
    // Not `push(...given)`: an import reserves more keys than a call can take arguments.
    this.#keys = this.#keys.concat(given);
  }

  /**
   * The next key. Keys rise, so that objects stored in their order are added at the end of an index. Throws when all
   * reserved keys are taken.
   */
  take(): bigint {
    const key = this.#keys[this.#taken];
    if (key === undefined) throw new Error('a batch took more local keys than it had reserved');
    this.#taken += 1;
    this.#promised -= 1;
    return key;
  }
}
