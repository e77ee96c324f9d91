/**
 * How fast clients send bodies, and the end of those that are too slow. The clock of a body runs only while its reader
 * waits for the client: not while the body waits for a place, for its turn, or for Postgres and the disk.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from '../answers/http-error.ts';

/** What a client must send. */
export interface SendingFloor {
  /** The least, in bytes a second. */
  readonly bytesPerSecond: number;
  /** Over how long that is measured, in milliseconds. A client that pauses has as long. */
  readonly windowMs: number;
  /** How long a body may take, in milliseconds. */
  readonly totalMs: number;
}

/** How often the clocks are read, in milliseconds, if the window is not shorter. */
const checkMsMax = 1000;

const paces = new WeakMap<IncomingMessage, BodyPace>();

/** The pace of a body that `BodyPaces` watches; undefined for others. */
export function paceOf(raw: IncomingMessage): BodyPace | undefined {
  return paces.get(raw);
}

/** The bodies of a server. `fail` ends the reading of a body with an error. */
export class BodyPaces {
  readonly #floor: SendingFloor;
  readonly #fail: (raw: IncomingMessage, error: HttpError) => void;
  readonly #timer: NodeJS.Timeout;
  /** The bodies whose readers wait for their clients. */
  readonly #waiting = new Set<BodyPace>();

  constructor(floor: SendingFloor, fail: (raw: IncomingMessage, error: HttpError) => void) {
    this.#floor = floor;
    this.#fail = fail;
    // What has arrived by now is read before the clocks are: a busy process blames no client.
    this.#timer = setInterval(
      () => this.#waiting.size > 0 && setImmediate(() => this.#check()),
      Math.min(checkMsMax, floor.windowMs / 4),
    ).unref();
  }

  watch(raw: IncomingMessage): void {
    paces.set(raw, new BodyPace(raw, this.#waiting));
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    for (const pace of this.#waiting) {
      const problem = pace.problem(this.#floor);
      if (problem !== null) this.#fail(pace.raw, problem);
    }
  }
}

/** Measures how fast one body arrives. */
class BodyPace {
  readonly raw: IncomingMessage;
  readonly #waiting: Set<BodyPace>;
  #since: number | null = null;
  /** How long its reader waited for the client, in the window and in all. */
  #windowMs = 0;
  #totalMs = 0;
  /** What came in the window. */
  #bytes = 0;
  /** What of it was not read yet. */
  #unread = 0;

  constructor(raw: IncomingMessage, waiting: Set<BodyPace>) {
    this.raw = raw;
    this.#waiting = waiting;
  }

  /** The reader waits for the client from now on. */
  wait(): void {
    this.#since ??= performance.now();
    this.#waiting.add(this);
  }

  /** The reader does not wait any more. */
  stop(): void {
    this.#count();
    this.#since = null;
    this.#waiting.delete(this);
  }

  /** Some bytes have come, which are read later. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    this.#unread += bytes;
  }

  /** Some bytes are read. */
  read(bytes: number): void {
    const known = Math.min(bytes, this.#unread);
    this.#unread -= known;
    this.#bytes += bytes - known;
  }

  /** Whether the client has sent less than this for at least so long, in the current window. */
  isSlowerThan(bytesPerSecond: number, ms: number): boolean {
    this.#count();
    return this.#windowMs >= ms && this.#bytes * 1000 < bytesPerSecond * this.#windowMs;
  }

  /** Why the body is given up; null if its client sends fast enough. Begins a new window when one is over. */
  problem({ bytesPerSecond, windowMs, totalMs }: SendingFloor): HttpError | null {
    this.#count();
    if (this.#totalMs >= totalMs) return timeoutOf(`The body did not arrive within ${totalMs / 1000} s.`);
    if (this.#windowMs < windowMs) return null;
    if (this.#bytes * 1000 < bytesPerSecond * windowMs)
      return timeoutOf(
        `The body arrives too slowly: less than ${bytesPerSecond} bytes a second came in ${windowMs / 1000} s.`,
      );
    this.#windowMs = 0;
    this.#bytes = 0;
    return null;
  }

  #count(): void {
    if (this.#since === null) return;
    const now = performance.now();
    this.#windowMs += now - this.#since;
    this.#totalMs += now - this.#since;
    this.#since = now;
  }
}

/** The error for a body that was given up because of its client. Nothing of the request took effect. */
export function timeoutOf(message: string): HttpError {
  return new HttpError('request_timeout', message, { connection: 'close' });
}
