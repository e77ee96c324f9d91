/**
 * A proxy before a broker that reads Kafka's framing, so that it can do harm to sends alone: keep their answers, delay
 * them, or hold them back. A message begins with its length, in four bytes; a request goes on with the number of what
 * it asks for (0: produce), two bytes of version and four that its answer begins with
 * (https://kafka.apache.org/protocol).
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const produce = 0;

/** What becomes of a send. */
export interface Harm {
  /** How long it is on its way, in milliseconds. */
  readonly delayMs?: number;
  /**
   * The broker's answer is lost, and the connection with it or not; or it becomes this error code although the broker
   * wrote the records.
   */
  readonly answer?: 'swallowed' | 'cut' | number;
}

export class KafkaProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  /** Sends wait for it while they are held back. */
  #held: PromiseWithResolvers<void> | null = null;
  /** What becomes of the next send. */
  harm: () => Harm = () => ({});
  /** How many sends went on to the broker, how many of its answers were lost, and how many became errors. */
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
      // A broken connection closes, and takes the other side with it.
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
    // What was held back reaches the broker although the client has long hung up: so it is with a slow network.
    if (far.writable) far.write(message);
  }
}

/**
 * The answer to a send to one partition, with another error code. Behind its length and number, an answer has how many
 * topics follow, the name of the first after its length, how many partitions follow, the number of the first, and its
 * error code.
 */
function withError(message: Buffer, code: number): Buffer {
  const changed = Buffer.from(message);
  const nameBytes = message.readInt16BE(12);
  changed.writeInt16BE(code, 14 + nameBytes + 8);
  return changed;
}

/** Calls the listener with each whole message, its length included. */
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
