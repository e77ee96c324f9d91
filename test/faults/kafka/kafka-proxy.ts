/**
 * A proxy in front of a broker that reads Kafka's framing, so that it can disturb only sends: keep their answers, delay
 * them, or hold them back. A message begins with its length, in four bytes. A request continues with the number of its
 * kind (0: produce), two bytes of version, and four bytes with which its answer begins
 * (https://kafka.apache.org/protocol).
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const produce = 0;

/** The disturbance of a send. */
export interface Harm {
  /** How long the send is in flight, in milliseconds. */
  readonly delayMs?: number;
  /**
   * The broker's answer is lost, with or without the connection; or it becomes this error code, although the broker
   * wrote the records.
   */
  readonly answer?: 'swallowed' | 'cut' | number;
}

export class KafkaProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  /** While sends are held back, they wait for this. */
  #held: PromiseWithResolvers<void> | null = null;
  /** The disturbance of the next send. */
  harm: () => Harm = () => ({});
  /** How many sends reached the broker, how many of its answers were lost, and how many became errors. */
  readonly sends = { passed: 0, unanswered: 0, falsified: 0 };

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#join(socket));
  }

  /** Listens on a free port of 127.0.0.1, for a broker that may start later. */
  static async open(target: number): Promise<KafkaProxy> {
    const proxy = new KafkaProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Holds sends back until `release`. */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  async close(): Promise<void> {
    this.release();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    const far = connect(this.#target, '127.0.0.1');
    const harms = new Map<number, Harm>();
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      // If one connection breaks, it closes the other side too.
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    let onItsWay: Promise<void> = Promise.resolve();
    onMessages(near, (message) => {
      onItsWay = onItsWay.then(() => this.#pass(message, far, harms));
    });
    onMessages(far, (message) => {
      const correlation = message.readInt32BE(4);
      const { answer } = harms.get(correlation) ?? {};
      harms.delete(correlation);
      if (answer === undefined) {
        near.write(message);
        return;
      }
      if (typeof answer === 'number') {
        this.sends.falsified += 1;
        near.write(withError(message, answer));
        return;
      }
      this.sends.unanswered += 1;
      if (answer === 'cut') near.destroy();
    });
  }

  async #pass(message: Buffer, far: Socket, harms: Map<number, Harm>): Promise<void> {
    if (message.readInt16BE(4) === produce) {
      const harm = this.harm();
      harms.set(message.readInt32BE(8), harm);
      if (harm.delayMs) await new Promise((resolve) => setTimeout(resolve, harm.delayMs));
      await this.#held?.promise;
      this.sends.passed += 1;
    }
    // Sends that were held back still reach the broker, although the client has long hung up, as in a slow network.
    if (far.writable) far.write(message);
  }
}

/**
 * The answer to a send to one partition, with another error code. After its length and number, an answer has the number
 * of topics, the name of the first topic after its length, the number of partitions, the number of the first partition,
 * and its error code.
 */
function withError(message: Buffer, code: number): Buffer {
  const changed = Buffer.from(message);
  const nameBytes = message.readInt16BE(12);
  changed.writeInt16BE(code, 14 + nameBytes + 8);
  return changed;
}

/** Calls the listener with each whole message, including its length. */
function onMessages(socket: Socket, listener: (message: Buffer) => void): void {
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
      const end = 4 + received.readInt32BE(0);
      listener(received.subarray(0, end));
      received = received.subarray(end);
    }
  });
}
