/** A line to a server that can be cut: a proxy on its own port, which stays the same when the server moves. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** How long bytes to the server are in flight, in milliseconds. */
const latencyMs = 2;

interface Connection {
  readonly near: Socket;
  readonly far: Socket;
  /** The bytes in flight to the server. */
  readonly underWay: Buffer[];
}

export class CutLine {
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #connections = new Set<Connection>();
  /** The port of the server on 127.0.0.1; null: there is none. */
  target: number | null;

  private constructor(target: number) {
    this.target = target;
  }

  static async open(target: number): Promise<CutLine> {
    const line = new CutLine(target);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    return line;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all connections. Bytes in flight still reach the server, after `lateMs`; its answers are lost. */
  cut(lateMs: number): void {
    for (const connection of this.#connections) {
      const { near, far, underWay } = connection;
      this.#connections.delete(connection);
      near.destroy();
      setTimeout(() => {
        for (const bytes of underWay) far.write(bytes);
        far.destroySoon();
      }, lateMs);
    }
  }

  async close(): Promise<void> {
    this.cut(0);
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    if (this.target === null) {
      near.destroy();
      return;
    }
    const far = connect(this.target, '127.0.0.1');
    const connection: Connection = { near, far, underWay: [] };
    this.#connections.add(connection);
    near.on('data', (bytes: Buffer) => {
      connection.underWay.push(bytes);
      setTimeout(() => {
        if (this.#connections.has(connection)) far.write(connection.underWay.shift()!);
      }, latencyMs);
    });
    far.on('data', (bytes: Buffer) => near.write(bytes));
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        if (!this.#connections.delete(connection)) return;
        near.destroySoon();
        far.destroySoon();
      });
    }
  }
}
