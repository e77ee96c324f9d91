/**
 * A model of Kafka's brokers, as far as Kafka promises anything: records of a partition have consecutive offsets, acknowledged or not;
 * what was acknowledged stays, unless a fault says that it is lost. Requests and answers take their time, and faults decide what
 * becomes of them.
 */
import type { KafkajsBroker, KafkajsCluster } from '../../src/log/kafka/kafkajs-internals.ts';
import type { Random } from '../support/random.ts';
import { clock, wallClock, type SimulatedProcess } from './clock.ts';

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
 * What becomes of a send. `lost`: nothing is written, and the connection breaks. `unanswered`: the same, but it is written. `late`: it is
 * written long after the connection broke. Otherwise the error that is answered, although (`written`) or because (`refused`) it is.
 */
export type Fate = 'taken' | 'lost' | 'unanswered' | 'late' | { readonly written: string } | { readonly refused: string };

const brokerIds = [1, 2, 3];

/** How long a client waits for an answer, in milliseconds (the default of kafkajs). */
const requestTimeout = 30_000;

/** A broker that takes itself for the leader of a partition, with the records that it had when it was deposed. */
interface Deposed {
  readonly broker: number;
  readonly partition: number;
  readonly records: readonly StoredRecord[];
}

/** An error as kafkajs gives it. */
function answerOf(type: string): Error {
  return Object.assign(new Error(`the broker answers ${type}`), { name: 'KafkaJSProtocolError', type });
}

export class Brokers {
  readonly random: Random;
  readonly partitions: readonly Partition[];
  /** By how much the clocks of all brokers are ahead, in milliseconds. */
  skew = 0;
  /** Whether no broker can be reached. */
  away = false;
  /** What becomes of the next send to a partition. */
  fateOf: (partition: number) => Fate = () => 'taken';
  /** Called before records are appended, with the offset of the first. */
  onAppend: (partition: number, offset: number) => void = () => undefined;
  /** A leader that was deposed and does not know it; null: there is none. */
  #deposed: Deposed | null = null;
  /** How many records each partition had when clients began. They are never lost. */
  firstRecords: readonly number[] = [];
  /** How often the connections were broken. */
  breaks = 0;

  constructor(random: Random, partitions: number) {
    this.random = random;
    this.partitions = Array.from({ length: partitions }, () => ({ records: [], leader: random.pick(brokerIds), waiting: new Set() }));
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

  /** Another broker leads a partition. */
  elect(partition: number): void {
    const led = this.partitions[partition]!;
    led.leader = (led.leader % brokerIds.length) + 1;
  }

  /**
   * Another broker leads a partition, without its last records if `lost` is not 0, and the one that led it does not know yet: it goes on to
   * answer with what it has. It takes nothing, because no other broker follows it. Returns all records that there were.
   */
  depose(partition: number, lost = 0): readonly StoredRecord[] {
    const { leader: broker, records } = this.partitions[partition]!;
    const before = [...records];
    this.#deposed = { broker, partition, records: before };
    this.elect(partition);
    if (lost > 0) records.splice(Math.max(this.firstRecords[partition]!, records.length - lost));
    return before;
  }

  /** The broker that was deposed learns of it. */
  tellDeposed(): void {
    this.#deposed = null;
  }

  /** Who leads the partitions, as a broker knows it. */
  leadersKnownTo(broker: number): number[] {
    return this.partitions.map(({ leader }, partition) => (this.isDeposed(broker, partition) ? broker : leader));
  }

  isDeposed(broker: number, partition: number): boolean {
    return this.#deposed?.broker === broker && this.#deposed.partition === partition;
  }

  /** The records that a broker answers with. Throws unless it takes itself for the leader. */
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

  /** All brokers restart: what is on its way fails. */
  restart(): void {
    this.breaks += 1;
    for (const { waiting } of this.partitions) {
      for (const wake of waiting) wake();
      waiting.clear();
    }
  }

  /** They restart without the last records of a partition. Returns all records that there were. */
  loseTail(partition: number, count: number): readonly StoredRecord[] {
    const { records } = this.partitions[partition]!;
    const before = [...records];
    records.splice(Math.max(this.firstRecords[partition]!, records.length - count));
    this.restart();
    return before;
  }

  /** They restart with these records of a partition, and no others. */
  restore(partition: number, records: readonly StoredRecord[]): void {
    this.partitions[partition]!.records.splice(0, Infinity, ...records);
    this.restart();
  }

  /** A connection of a process. */
  connect(process: SimulatedProcess): KafkajsCluster {
    return new Cluster(this, process) as unknown as KafkajsCluster;
  }
}

type Produce = Parameters<KafkajsBroker['produce']>[0];
type Fetch = Parameters<KafkajsBroker['fetch']>[0];

/** A process's view of the brokers, with the methods of kafkajs's class. */
class Cluster {
  readonly #brokers: Brokers;
  readonly #process: SimulatedProcess;
  /** The leaders as this process knows them. */
  #leaders: readonly number[] = [];
  /** The broker to which it has cut its connection, and which is not asked for the metadata. */
  #removed: number | null = null;
  /** The brokers that this process has used, and the breaks when it connected to each. */
  readonly #known = new Map<string, KafkajsBroker>();
  readonly #connectedAt = new Map<string, number>();

  constructor(brokers: Brokers, process: SimulatedProcess) {
    this.#brokers = brokers;
    this.#process = process;
  }

  async connect(): Promise<void> {
    await this.refreshMetadata();
  }

  async addTargetTopic(): Promise<void> {
    await this.refreshMetadata();
  }

  async refreshMetadata(): Promise<void> {
    const asked = this.#brokers.random.pick(brokerIds.filter((broker) => broker !== this.#removed));
    this.#removed = null;
    await this.#ask(() => {
      this.#leaders = this.#brokers.leadersKnownTo(asked);
    });
  }

  async metadata(): Promise<unknown> {
    return this.#ask(() => ({ brokers: brokerIds.map((nodeId) => ({ nodeId, host: 'broker', port: nodeId })) }));
  }

  async refreshMetadataIfNecessary(): Promise<void> {
    // It is refreshed after each failure.
  }

  findLeaderForPartitions(_topic: string, partitions: readonly number[]): Record<string, number[]> {
    return Object.fromEntries(Map.groupBy(partitions, (partition) => String(this.#leaders[partition]))) as Record<string, number[]>;
  }

  async findBroker({ nodeId }: { readonly nodeId: string }): Promise<KafkajsBroker> {
    const id = Number(nodeId);
    const broker = this.#known.get(nodeId) ?? {
      produce: (request: Produce) => this.#produce(id, request),
      fetch: (request: Fetch) => this.#fetch(id, request),
      isConnected: () => this.#connectedAt.get(nodeId) === this.#brokers.breaks,
    } as unknown as KafkajsBroker;
    this.#known.set(nodeId, broker);
    this.#connectedAt.set(nodeId, this.#brokers.breaks);
    return broker;
  }

  async fetchTopicsOffset([{ partitions, fromBeginning }]: readonly [{ partitions: readonly { partition: number }[]; fromBeginning: boolean }]): Promise<unknown> {
    return this.#ask(() => [{
      partitions: partitions.map(({ partition }) => ({
        partition, offset: fromBeginning ? '0' : String(this.#brokers.recordsOf(partition, this.#leaders[partition]!).length),
      })),
    }]);
  }

  removeBroker({ port }: { readonly port: number }): void {
    this.#removed = port;
    this.#connectedAt.delete(String(port));
  }

  async disconnect(): Promise<void> {
    // Nothing is kept open.
  }

  async #produce(broker: number, { topicData: [topic] }: Produce): Promise<unknown> {
    const [{ partition, messages }] = topic!.partitions as unknown as [{ partition: number; messages: readonly { value: Buffer }[] }];
    const brokers = this.#brokers;
    let fate: Fate = brokers.fateOf(partition);
    return this.#ask(() => {
      if (brokers.isDeposed(broker, partition)) fate = { refused: 'REQUEST_TIMED_OUT' };
      else if (brokers.partitions[partition]!.leader !== broker) fate = { refused: 'NOT_LEADER_FOR_PARTITION' };
      if (fate === 'lost') throw this.#broken();
      if (typeof fate === 'object' && 'refused' in fate) throw answerOf(fate.refused);
      const values = messages.map(({ value }) => value);
      if (fate === 'late') {
        clock.schedule(brokers.random.between(100, 90_000), () => brokers.append(partition, values), null);
        throw this.#broken();
      }
      const { offset, time } = brokers.append(partition, values);
      if (fate === 'unanswered') throw this.#broken();
      if (typeof fate === 'object') throw answerOf(fate.written);
      return { topics: [{ partitions: [{ baseOffset: String(offset), logAppendTime: String(time) }] }] };
    });
  }

  async #fetch(broker: number, { topics: [topic], maxWaitTime = 0 }: Fetch): Promise<unknown> {
    const wanted = (topic!.partitions as readonly { partition: number; fetchOffset: string }[])
      .map(({ partition, fetchOffset }) => ({ partition, from: Number(fetchOffset) }));
    const { breaks } = this.#brokers;
    const isThere = await this.#ask(() => wanted.some(({ partition, from }) => from !== this.#brokers.recordsOf(partition, broker).length));
    if (!isThere) await this.#untilRecordsCome(wanted.map(({ partition }) => partition), maxWaitTime);
    return this.#ask(() => {
      if (breaks !== this.#brokers.breaks) throw this.#broken();
      const found = wanted.map(({ partition, from }) => ({ partition, from, records: this.#brokers.recordsOf(partition, broker) }));
      for (const { partition, from, records } of found) {
        if (from > records.length) throw Object.assign(new Error('there is no such offset'), { name: 'KafkaJSOffsetOutOfRange', partition });
      }
      return {
        responses: [{
          partitions: found.map(({ partition, from, records }) => ({
            partition, highWatermark: String(records.length),
            messages: records.slice(from, from + 100).map(({ time, value }, at) => ({ offset: String(from + at), timestamp: String(time), value })),
          })),
        }],
      };
    });
  }

  #untilRecordsCome(partitions: readonly number[], ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        for (const partition of partitions) this.#brokers.partitions[partition]!.waiting.delete(wake);
        resolve();
      };
      for (const partition of partitions) this.#brokers.partitions[partition]!.waiting.add(wake);
      clock.schedule(ms, wake, null);
    });
  }

  /** Has a broker do something, after a while, and gives its answer, after another. */
  #ask<T>(work: () => T): Promise<T> {
    const { random } = this.#brokers;
    const { breaks } = this.#brokers;
    const process = this.#process;
    return new Promise((resolve, reject) => {
      const later = (ms: number, run: () => void): unknown => clock.schedule(ms, run, process);
      // What is on its way when the process dies arrives, or not.
      clock.schedule(random.between(0.1, 2), () => {
        if (this.#brokers.away) return later(random.chance(0.8) ? 1 : requestTimeout, () => reject(this.#broken()));
        if (!process.isAlive && random.chance(0.5)) return;
        if (breaks !== this.#brokers.breaks) return later(1, () => reject(this.#broken()));
        try {
          const answer = work();
          later(random.between(0.1, 2), () => (breaks === this.#brokers.breaks ? resolve(answer) : reject(this.#broken())));
        } catch (error) {
          later(random.between(0.1, 2), () => reject(error as Error));
        }
      }, null);
    });
  }

  #broken(): Error {
    return Object.assign(new Error('the connection to a broker is broken'), { name: 'KafkaJSConnectionError' });
  }
}
