/** Asks several brokers who leads partitions: a leader that was deposed, and does not know it yet, names itself. */
import type { BrokerMetadata } from 'kafkajs';
import type { KafkajsCluster } from './kafkajs-internals.ts';

/** How often brokers are asked for a leader that another one confirms. */
const attemptsMax = 4;

interface LeaderSearchOptions {
  readonly topic: string;
  readonly cluster: Pick<KafkajsCluster, 'metadata' | 'refreshMetadata' | 'removeBroker'>;
  /** The leader of a partition as far as known; undefined if it has none. */
  readonly leaderOf: (partition: number) => string | undefined;
  /** Called before brokers are asked, which may connect to them anew. */
  readonly onAsk: () => void;
  /** What this broker knows of the topic. Rejects when it cannot be reached, or knows no leader of a partition. */
  readonly ask: (broker: string) => Promise<BrokerMetadata>;
}

interface Round {
  readonly partitions: Set<number>;
  /** The leaders of those of which two brokers named the same one. */
  readonly found: Promise<ReadonlyMap<number, string>>;
}

/**
 * A search breaks the connections to the leaders that no other broker confirms. So there is one at a time, for all
 * partitions that were asked for before it began.
 */
export class LeaderSearch {
  readonly #options: LeaderSearchOptions;
  /** The round that has not begun yet. */
  #next: Round | null = null;
  /** The last round that is to be. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderSearchOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the leader once a second broker, if there is one, names the same one. Rejects when no broker can be
   * reached, or they differ.
   */
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
      const confirmed = leader === undefined ? new Set() : await this.#askOthers(known.brokers, leader, led);
      for (const partition of led) {
        const attempt = (attempts.get(partition) ?? 0) + 1;
        attempts.set(partition, attempt);
        // What is added again is visited again, after all others.
        left.delete(partition);
        if (confirmed.has(partition)) found.set(partition, leader!);
        else if (attempt < attemptsMax) left.add(partition);
      }
      if (led.every((partition) => found.has(partition))) continue;
      // A broker that is removed is asked only if no other can be.
      const named = known.brokers.find(({ nodeId }) => String(nodeId) === leader);
      if (named && known.brokers.length > 1) cluster.removeBroker(named);
      await cluster.refreshMetadata();
    }
    return found;
  }

  /**
   * Those of the partitions of which another broker says, too, that this one leads them; or this one, if there is no
   * other. Only the answers count: what the client knows of leaders changes with the answers to all its tasks.
   */
  async #askOthers(
    brokers: BrokerMetadata['brokers'],
    leader: string,
    partitions: readonly number[],
  ): Promise<ReadonlySet<number>> {
    const ids = brokers.map(({ nodeId }) => String(nodeId));
    const others = ids.length > 1 ? ids.filter((id) => id !== leader) : ids;
    const answers = others.map(async (id) => leadersIn(await this.#options.ask(id)));
    const confirmed = new Set<number>();
    await Promise.all(
      partitions.map(async (partition) => {
        // No broker has to be waited for once another one confirms the leader.
        await Promise.any(
          answers.map(async (answer) => {
            if ((await answer).get(partition) !== leader) throw new Error('this broker names another leader');
            confirmed.add(partition);
          }),
        ).catch(() => {
          // No other broker confirms it.
        });
      }),
    );
    return confirmed;
  }
}

/** The leaders of the partitions of one topic. */
function leadersIn({ topicMetadata }: BrokerMetadata): ReadonlyMap<number, string> {
  const partitions = topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata);
  return new Map(partitions.map(({ partitionId, leader }) => [partitionId, String(leader)]));
}
