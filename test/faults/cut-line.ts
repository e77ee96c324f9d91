/** A line to a server that can be cut: a proxy on a port of its own, which stays the same when the server moves. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export class CutLine {
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #sockets = new Set<Socket>();
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

  /** Breaks all connections. What the server has received it goes on with, and its answers are lost. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    if (this.target === null) {
      near.destroy();
      return;
    }
    const far = connect(this.target, '127.0.0.1');
    for (const [socket, other] of [[near, far], [far, near]] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
