/** Asks several brokers who leads partitions: a leader that was deposed, and does not know it yet, names itself. */
import type { KafkajsCluster } from './kafkajs-internals.ts';

/** How often brokers are asked for a leader that another one confirms. */
const attemptsMax = 4;

export interface LeaderSearchOptions {
  readonly topic: string;
  readonly cluster: Pick<KafkajsCluster, 'metadata' | 'refreshMetadata' | 'removeBroker'>;
  /** The leader of a partition as far as known; undefined if it has none. */
  readonly leaderOf: (partition: number) => string | undefined;
  /** Called before brokers are asked, which may connect to them anew. */
  readonly onAsk: () => void;
}

interface Round {
  readonly partitions: Set<number>;
  /** The leaders of those of which two brokers named the same one. */
  readonly found: Promise<ReadonlyMap<number, string>>;
}

/** A search breaks the connections to the leaders that it finds. So there is one at a time, for all partitions that were asked for before it began. */
export class LeaderSearch {
  readonly #options: LeaderSearchOptions;
  /** The round that has not begun yet. */
  #next: Round | null = null;
  /** The last round that is to be. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderSearchOptions) {
    this.#options = options;
  }

  /** Resolves to the leader once a second broker, if there is one, names the same one. Rejects when no broker can be reached, or they differ. */
  async find(partition: number): Promise<string> {
    this.#next ??= this.#plan();
    const { partitions, found } = this.#next;
    partitions.add(partition);
    const leader = (await found).get(partition);
    if (leader === undefined) throw new Error(`the brokers do not agree on who leads partition ${partition}`);
    return leader;
  }

  #plan(): Round {
    const partitions = new Set<number>();
    const found = this.#last.then(() => {
      this.#next = null;
      return this.#search(partitions);
    });
    this.#last = found.catch(() => undefined);
    return { partitions, found };
  }

  async #search(partitions: ReadonlySet<number>): Promise<ReadonlyMap<number, string>> {
    const { topic, cluster, leaderOf, onAsk } = this.#options;
    onAsk();
    // Of this topic only: no broker answers for all topics while a partition of any has no leader.
    const known = await cluster.metadata({ topics: [topic] });
    if (known === null) throw new Error('no broker says who leads the partitions');
    const attempts = new Map<number, number>();
    const found = new Map<number, string>();
    const left = new Set(partitions);
    for (const first of left) {
      const leader = leaderOf(first);
      const led = [...left].filter((partition) => leaderOf(partition) === leader);
      const named = known.brokers.find(({ nodeId }) => String(nodeId) === leader);
      // A broker that is removed is asked only if no other can be.
      if (named && known.brokers.length > 1) cluster.removeBroker(named);
      await cluster.refreshMetadata();
      for (const partition of led) {
        const attempt = (attempts.get(partition) ?? 0) + 1;
        attempts.set(partition, attempt);
        // What is added again is visited again, after all others.
        left.delete(partition);
        if (leader !== undefined && leaderOf(partition) === leader) found.set(partition, leader);
        else if (attempt < attemptsMax) left.add(partition);
      }
    }
    return found;
  }
}
