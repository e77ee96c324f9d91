/** What a team does that means harm, and the same load from a team that behaves. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, type Answer } from '../connection.ts';
import type { Target } from '../requests.ts';

export interface Attack {
  /** The name for `--only`. */
  readonly name: string;
  /** What the team does, for the report. */
  readonly what: string;
  /** What the team that behaves does. */
  readonly insteadOf: string;
  /** How many teams send the load together, on either side. */
  readonly teams: number;
  /** Prepares either load for new teams; resolves to how to run it. */
  prepare(teams: Teams, isHarmful: boolean): Promise<Load>;
}

export type Teams = readonly [Target, ...Target[]];

/** Runs until the signal is aborted. May be called again afterwards. */
export type Load = (run: LoadRun) => Promise<void>;

/** One run of a load: when it ends, and what it came to. */
export class LoadRun {
  readonly signal: AbortSignal;
  /** How many answers had each status; `closed`: connections that the service closed. */
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
   * Sends requests over this many connections, each the next one as soon as it has its answer. `next` gets that answer;
   * null: the connection is new.
   */
  async repeat(target: Target, connections: number, next: (last: Answer | null) => Buffer): Promise<void> {
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (!this.signal.aborted) await this.#repeatUntilClosed(target, next);
      }),
    );
  }

  /** The same, but each connection sends a request every `ms` milliseconds. */
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

  /** Keeps this many sockets open, each of which `use` does something slow with until it is closed. */
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
