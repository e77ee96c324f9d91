/** A model of a consumer group. It assigns the partitions to its live members, and notices late that one has gone. */
import { allPartitions } from '../../src/log/partition.ts';
import { sessionTimeout } from '../../src/log/kafka/group-membership.ts';
import type { Random } from '../support/random.ts';
import { clock, type SimulatedProcess } from './clock.ts';

interface Member {
  readonly process: SimulatedProcess;
  readonly onAssigned: (partitions: readonly number[]) => void;
}

export class ConsumerGroup {
  readonly #random: Random;
  readonly #partitions: readonly number[];
  #members: Member[] = [];
  #generation = 0;

  constructor(random: Random, partitions: number) {
    this.#random = random;
    this.#partitions = allPartitions(partitions);
  }

  /** The membership of a process, for `Brokers` of the log. */
  membershipOf(process: SimulatedProcess) {
    return (onAssigned: Member['onAssigned']): { join(): void; leave(): Promise<void> } => {
      const member = { process, onAssigned };
      return {
        join: () => {
          this.#members.push(member);
          this.#rebalance();
        },
        leave: async () => this.#remove(member),
      };
    };
  }

  /** A process stops sending. After its session it is no longer a member. When it sends again, it joins again. */
  silence(process: SimulatedProcess): () => void {
    const silent = this.#members.filter((member) => member.process === process);
    const expiry = clock.schedule(
      sessionTimeout,
      () => {
        for (const member of silent) this.#remove(member);
      },
      null,
    );
    return () => {
      expiry.isCleared = true;
      const expired = silent.filter((member) => !this.#members.includes(member));
      this.#members.push(...expired);
      if (expired.length > 0) this.#rebalance();
    };
  }

  #remove(member: Member): void {
    this.#members = this.#members.filter((other) => other !== member);
    this.#rebalance();
  }

  /** Each member learns of the new generation in its own time, unless there is a newer one by then. */
  #rebalance(): void {
    const members = this.#members;
    const generation = (this.#generation += 1);
    members.forEach(({ process, onAssigned }, at) => {
      const assigned = this.#partitions.filter((partition) => partition % members.length === at);
      clock.schedule(
        this.#random.between(1, 200),
        () => {
          if (generation === this.#generation) process.run(() => onAssigned(assigned));
        },
        process,
      );
    });
  }
}
