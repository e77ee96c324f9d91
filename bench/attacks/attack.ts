/** An attack: the harmful load of a team, and a similar normal load of another team. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type Answer } from '../connection.ts';
import type { Target } from '../requests.ts';

export interface Attack {
  /** The name for `--only`. */
  readonly name: string;
  /** The harmful load, for the report. */
  readonly what: string;
  /** The load of the team that behaves. */
  readonly insteadOf: string;
  /** How many teams send the load together, the harmful one as well as the other. */
  readonly teams: number;
  /** Prepares one of the two loads for new teams. Resolves to a function that runs it. */
  prepare(teams: Teams, isHarmful: boolean): Promise<Load>;
}

export type Teams = readonly [Target, ...Target[]];

/** Runs a load until the signal aborts. Can be called again afterwards. */
export type Load = (run: LoadRun) => Promise<void>;

/** A run of a load: its signal and its results. */
export class LoadRun {
  readonly signal: AbortSignal;
  /** The number of answers by status; `closed` counts connections that the service closed. */
  readonly answers: Record<string, number> = {};
  /** The bytes of bodies that were accepted. */
  acceptedBytes = 0;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  count(status: number | 'closed', bodyBytes = 0): void {
    this.answers[status] = (this.answers[status] ?? 0) + 1;
    if (status === 200 || status === 201) this.acceptedBytes += bodyBytes;
  }

  /**
   * Sends requests over this many connections. Each connection sends the next request as soon as it has its answer.
   * `next` makes the request from the last answer; null: the connection is new.
   */
  async repeat(target: Target, connections: number, next: (last: Answer | null) => Buffer): Promise<void> {
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (!this.signal.aborted) await this.#repeatUntilClosed(target, next);
      }),
    );
  }

  /** Sends requests over this many connections, each one every `ms` milliseconds. */
  async repeatEvery(target: Target, ms: number, connections: number, request: Buffer): Promise<void> {
    await Promise.all(
      Array.from({ length: connections }, async () => {
        const connection = await Connection.open(target.ports[0]!, target.from);
        while (!this.signal.aborted) {
          this.count((await connection.send(request)).status);
          await sleep(ms, undefined, { signal: this.signal }).catch(() => undefined);
        }
        connection.close();
      }),
    );
  }

  async #repeatUntilClosed({ ports, from }: Target, next: (last: Answer | null) => Buffer): Promise<void> {
    const connection = await Connection.open(ports[0]!, from);
    const end = (): void => connection.close();
    this.signal.addEventListener('abort', end);
    try {
      for (let last: Answer | null = null; !this.signal.aborted;) {
        const request = next(last);
        last = await connection.send(request);
        this.count(last.status, request.length);
      }
    } catch {
      if (!this.signal.aborted) this.count('closed');
    } finally {
      this.signal.removeEventListener('abort', end);
      connection.close();
    }
  }

  /** Keeps this many sockets open. `use` does slow work with each of them until the socket is closed. */
  async keepOpen({ ports, from }: Target, count: number, use: (socket: Socket) => Promise<void>): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        while (!this.signal.aborted) {
          const socket = connect({
            host: '127.0.0.1',
            port: ports[0]!,
            ...(from !== undefined && { localAddress: from }),
          });
          const end = (): void => void socket.destroy();
          this.signal.addEventListener('abort', end);
          socket.on('error', () => undefined);
          try {
            await once(socket, 'connect', { signal: this.signal });
            await use(socket);
          } catch {
            // The service closed it, or the run is over.
          }
          this.signal.removeEventListener('abort', end);
          socket.destroy();
          if (!this.signal.aborted) this.count('closed');
        }
      }),
    );
  }
}
