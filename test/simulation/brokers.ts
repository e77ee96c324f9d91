/**
 * A model of Kafka's brokers that keeps Kafka's promises and no others: records of a partition have consecutive
 * offsets, acknowledged or not, and acknowledged records stay, unless a fault loses them. Requests and answers take
 * time, and faults decide their fate.
 */
import type { Random } from '../support/random.ts';
import { wallClock } from './clock.ts';

interface StoredRecord {
  readonly time: number;
  readonly value: Buffer;
}

interface Partition {
  readonly records: StoredRecord[];
  leader: number;
  /** Called when records come. */
  readonly waiting: Set<() => void>;
}

/**
 * The fate of a send. `lost`: nothing is written, and the connection breaks. `unanswered`: the connection breaks, but
 * the send is written. `late`: it is written long after the connection broke. Otherwise the error of the answer: the
 * send was either written in spite of it (`written`), or refused with it (`refused`).
 */
export type Fate =
  | 'taken'
  | 'lost'
  | 'unanswered'
  | 'late'
  | { readonly written: string }
  | { readonly refused: string };

export const brokerIds = [1, 2, 3];

/** A broker that takes itself for the leader of a partition, with the records that it had when it was deposed. */
interface Deposed {
  readonly broker: number;
  readonly partition: number;
  readonly records: readonly StoredRecord[];
}

/** An error in the form of kafkajs. */
export function answerOf(type: string): Error {
  return Object.assign(new Error(`the broker answers ${type}`), { name: 'KafkaJSProtocolError', type });
}

export class Brokers {
  readonly random: Random;
  readonly partitions: readonly Partition[];
  /** By how much the clocks of all brokers are ahead, in milliseconds. */
  skew = 0;
  /** Whether no broker can be reached. */
  away = false;
  /** The effects of faults on sends. The first one that does not let the send pass counts. */
  readonly fates = new Set<() => Fate>();
  /** Called before records are appended, with the offset of the first record. */
  onAppend: (partition: number, offset: number) => void = () => undefined;
  /** A deposed leader that does not know it; null: there is none. */
  #deposed: Deposed | null = null;
  /** How many records each partition had when clients began. These records are never lost. */
  firstRecords: readonly number[] = [];
  /** How often the connections were broken. */
  breaks = 0;

  constructor(random: Random, partitions: number) {
    this.random = random;
    this.partitions = Array.from({ length: partitions }, () => ({
      records: [],
      leader: random.pick(brokerIds),
      waiting: new Set(),
    }));
  }

  /** The fate of the next send. */
  nextFate(): Fate {
    for (const fate of this.fates) {
      const fated = fate();
      if (fated !== 'taken') return fated;
    }
    return 'taken';
  }

  append(partition: number, values: readonly Uint8Array[]): { readonly offset: number; readonly time: number } {
    const { records, waiting } = this.partitions[partition]!;
    const offset = records.length;
    this.onAppend(partition, offset);
    const time = Math.floor(wallClock() + this.skew);
    for (const value of values) records.push({ time, value: Buffer.from(value) });
    for (const wake of waiting) wake();
    waiting.clear();
    return { offset, time };
  }

  /** Makes another broker the leader of a partition. */
  elect(partition: number): void {
    const led = this.partitions[partition]!;
    led.leader = (led.leader % brokerIds.length) + 1;
  }

  /**
   * Makes another broker the leader of a partition. If `lost` is not 0, it lacks the last records. The former leader
   * does not know yet, and goes on answering from its own records. It accepts no records, because no other broker
   * follows it. Returns all records that there were.
   */
  depose(partition: number, lost = 0): readonly StoredRecord[] {
    const { leader: broker, records } = this.partitions[partition]!;
    const before = [...records];
    this.#deposed = { broker, partition, records: before };
    this.elect(partition);
    if (lost > 0) records.splice(Math.max(this.firstRecords[partition]!, records.length - lost));
    return before;
  }

  /** Lets the deposed broker learn that it was deposed. */
  tellDeposed(): void {
    this.#deposed = null;
  }

  /** The leaders of the partitions, as a broker knows them. */
  leadersKnownTo(broker: number): number[] {
    return this.partitions.map(({ leader }, partition) => (this.isDeposed(broker, partition) ? broker : leader));
  }

  isDeposed(broker: number, partition: number): boolean {
    return this.#deposed?.broker === broker && this.#deposed.partition === partition;
  }

  /** The records from which a broker answers. Throws unless it takes itself for the leader. */
  recordsOf(partition: number, broker: number): readonly StoredRecord[] {
    if (this.isDeposed(broker, partition)) return this.#deposed!.records;
    const { leader, records } = this.partitions[partition]!;
    if (leader !== broker) throw answerOf('NOT_LEADER_FOR_PARTITION');
    return records;
  }

  /** From here on, records may get lost. */
  begin(): void {
    this.firstRecords = this.partitions.map(({ records }) => records.length);
  }

  /** Restarts all brokers: requests in flight fail. */
  restart(): void {
    this.breaks += 1;
    for (const { waiting } of this.partitions) {
      for (const wake of waiting) wake();
      waiting.clear();
    }
  }

  /** Restarts the brokers without the last records of a partition. Returns all records that there were. */
  loseTail(partition: number, count: number): readonly StoredRecord[] {
    const { records } = this.partitions[partition]!;
    const before = [...records];
    records.splice(Math.max(this.firstRecords[partition]!, records.length - count));
    this.restart();
    return before;
  }

  /** Restarts the brokers with exactly these records of a partition. */
  restore(partition: number, records: readonly StoredRecord[]): void {
    this.partitions[partition]!.records.splice(0, Infinity, ...records);
    this.restart();
  }
}
