/** A client's connection to the service. It is opened when it is needed, and again after it was closed. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitMs } from '../support/time-limits.ts';
import { AnswerReader } from './answers.ts';
import type { Delivery } from './deliveries.ts';

/** How long the service may take for an answer, in milliseconds, however slow the machine is. */
const patienceMs = limitMs(120_000);

interface Received extends Pick<AnswerReader, 'answers' | 'rest'> {
  /** Whether the service closed the connection, or the client cut it. */
  readonly isClosed: boolean;
}

export class Connection {
  readonly #url: URL;
  #socket: Socket | null = null;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  /** Rejects if the answers are no HTTP, or do not come. */
  async exchange({ requests, pieces, pauseMs, ending, isFramed }: Delivery): Promise<Received> {
    const socket = this.#socket?.writable === true ? this.#socket : await this.#open();
    this.#socket = null;
    const reader = new AnswerReader(requests.map(({ method }) => method));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onData = (bytes: Buffer): void => {
      try {
        reader.push(bytes);
        if (reader.isDone && isFramed && reader.answers.at(-1)?.isLast !== true) resolve();
      } catch (error) {
        reject(error);
      }
    };
    const onClose = (): void => resolve();
    const timer = setTimeout(() => reject(new Error(`no answer in ${patienceMs} ms`)), patienceMs);
    socket.on('data', onData).once('close', onClose);
    try {
      await write(socket, pieces, pauseMs);
      if (ending === 'end') socket.end();
      if (ending === 'cut') socket.destroy();
      await promise;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
    }
    if (!socket.destroyed) this.#socket = socket;
    return { answers: reader.answers, rest: reader.rest, isClosed: socket.destroyed };
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  async #open(): Promise<Socket> {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true });
    // The service may cut a connection; what has arrived by then counts.
    socket.on('error', () => undefined);
    await Promise.race([
      once(socket, 'connect'),
      once(socket, 'close').then(() => {
        throw new Error('the service takes no connections');
      }),
    ]);
    return socket;
  }
}

async function write(socket: Socket, pieces: readonly Buffer[], pauseMs: number): Promise<void> {
  for (const [at, piece] of pieces.entries()) {
    if (at > 0) await sleep(pauseMs);
    if (socket.destroyed) return;
    socket.write(piece);
  }
}
