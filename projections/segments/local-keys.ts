/**
 * Short numbers for links and segments, unique within a read model. A process takes a thousand at a time from a sequence,
 * so that a decision can hand them out without a query. They are no part of the state that replay compares.
 */
import type { PipelinedClient, Statement } from '../../src/database/pipelined-client.ts';

const keysAtOnce = 1000;

/** Run when the read model is made. */
export const createLocalKeys = `create sequence local_keys increment by ${keysAtOnce}`;

const nextKeys: Statement = {
  name: 'next_local_keys',
  text: `select nextval('local_keys') from generate_series(1, $1)`,
};

export class LocalKeys {
  #free: bigint[] = [];

  /** Makes sure that `count` keys can be taken without waiting. */
  async reserve(tx: Pick<PipelinedClient, 'query'>, count: number): Promise<void> {
    if (this.#free.length >= count) return;
    const { rows } = await tx.query(nextKeys, [Math.ceil(count / keysAtOnce)]);
    for (const [first] of rows) {
      for (let i = 0; i < keysAtOnce; i += 1) this.#free.push((first as bigint) + BigInt(i));
    }
  }

  /** Throws when none was reserved. */
  take(): bigint {
    const key = this.#free.pop();
    if (key === undefined) throw new Error('a local key was taken that nobody had reserved');
    return key;
  }
}
