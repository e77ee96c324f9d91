/**
 * Asks several brokers for the leaders of partitions, because a deposed leader that does not know it yet names itself.
 */
import type { BrokerMetadata } from 'kafkajs';
import type { KafkajsCluster } from './kafkajs-internals.ts';

/** How often brokers are asked for a leader that another broker confirms. */
const attemptsMax = 4;

interface LeaderSearchOptions {
  readonly topic: string;
  readonly cluster: Pick<KafkajsCluster, 'metadata' | 'refreshMetadata' | 'removeBroker'>;
  /** The leader of a partition as far as known; undefined if it has none. */
  readonly leaderOf: (partition: number) => string | undefined;
  /** Called before brokers are asked, because asking may reconnect to them. */
  readonly onAsk: () => void;
  /**
   * The metadata that this broker has of the topic. Rejects if it cannot be reached, or knows no leader of a partition.
   */
  readonly ask: (broker: string) => Promise<BrokerMetadata>;
}

interface Round {
  readonly partitions: Set<number>;
  /** The leaders of the partitions for which two brokers named the same one. */
  readonly found: Promise<ReadonlyMap<number, string>>;
}

/**
 * A search breaks the connections to leaders that no other broker confirms. So only one search runs at a time, for all
 * partitions that were requested before it began.
 */
export class LeaderSearch {
  readonly #options: LeaderSearchOptions;
  /** The round that has not yet begun. */
  #next: Round | null = null;
  /** The last round that is planned. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LeaderSearchOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the leader once a second broker, if there is one, names the same one. Rejects if no broker can be
   * reached, or if they disagree.
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
    // Only this topic: while a partition of any topic has no leader, no broker answers for all topics.
    const known = await cluster.metadata({ topics: [topic] });
    if (known === null) throw new Error('no broker names the leaders of the partitions');
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
        // A partition that is added again is visited again, after all others.
        left.delete(partition);
        if (confirmed.has(partition)) found.set(partition, leader!);
        else if (attempt < attemptsMax) left.add(partition);
      }
      if (led.every((partition) => found.has(partition))) continue;
      // A removed broker is asked only if no other broker can be asked.
      const named = known.brokers.find(({ nodeId }) => String(nodeId) === leader);
      if (named && known.brokers.length > 1) cluster.removeBroker(named);
      await cluster.refreshMetadata();
    }
    return found;
  }

  /**
   * The partitions for which another broker confirms that this one leads them. If there is no other broker, this one
   * confirms itself. Only the brokers' answers count, because the client's own metadata changes with the answers to all
   * its requests.
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
        // Once one broker confirms the leader, the others need not be awaited.
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
