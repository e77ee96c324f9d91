/**
 * A TCP proxy in front of a server. It can stop passing bytes on without closing a connection, as a hanging network or
 * server does.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export class HangingProxy {
  readonly #server = createServer((client) => this.#pass(client));
  readonly #target: { readonly host: string; readonly port: number };
  readonly #sockets = new Set<Socket>();
  /** How many connections have been made. */
  connections = 0;
  /** Whether the bytes of a connection are still passed on after this answer. Called with each answer of the server. */
  passesAfter: (answer: Buffer) => boolean = () => true;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#target = target;
  }

  static async open(target: { readonly host: string; readonly port: number }): Promise<HangingProxy> {
    const proxy = new HangingProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on, the present connections pass nothing on. New ones do. */
  hang(): void {
    for (const socket of this.#sockets) socket.pause().removeAllListeners('data');
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket): void {
    this.connections += 1;
    const server = connect(this.#target);
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => {
      client.write(bytes);
      if (!this.passesAfter(bytes)) client.pause().removeAllListeners('data');
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
