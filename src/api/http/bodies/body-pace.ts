/**
 * Measures how fast clients send bodies, and ends bodies that arrive too slowly. The clock of a body runs only while
 * its reader waits for the client: not while the body waits for a place, for its turn, or for Postgres and the disk.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from '../answers/http-error.ts';

/** What a client must send. */
export interface SendingFloor {
  /** Minimum, in bytes a second. */
  readonly bytesPerSecond: number;
  /** Window over which the rate is measured, in milliseconds. A client may pause for as long. */
  readonly windowMs: number;
  /** Maximum time for a body, in milliseconds. */
  readonly totalMs: number;
}

/** Maximum interval between checks, in milliseconds. A window of less than four seconds is checked more often. */
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
    // `setImmediate`: bytes that have arrived are read before the check, so that a busy process blames no client.
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
  /** How long its reader has waited for the client, in the window and in total. */
  #windowMs = 0;
  #totalMs = 0;
  /** How many bytes arrived in the window. */
  #bytes = 0;
  /** How many bytes `arrived` has counted and `read` has not. */
  #unread = 0;

  constructor(raw: IncomingMessage, waiting: Set<BodyPace>) {
    this.raw = raw;
    this.#waiting = waiting;
  }

  /** Starts the clock: the reader waits for the client. */
  wait(): void {
    this.#since ??= performance.now();
    this.#waiting.add(this);
  }

  /** Stops the clock: the reader does not wait for the client. */
  stop(): void {
    this.#count();
    this.#since = null;
    this.#waiting.delete(this);
  }

  /** Counts bytes that have arrived and will be read later. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    this.#unread += bytes;
  }

  /** Counts bytes that are read, unless `arrived` has counted them. */
  read(bytes: number): void {
    const known = Math.min(bytes, this.#unread);
    this.#unread -= known;
    this.#bytes += bytes - known;
  }

  /** Whether the client has sent less than this rate for at least `ms`, in the current window. */
  isSlowerThan(bytesPerSecond: number, ms: number): boolean {
    this.#count();
    return this.#windowMs >= ms && this.#bytes * 1000 < bytesPerSecond * this.#windowMs;
  }

  /** The error that ends the body; null if its client sends fast enough. Begins a new window when one is over. */
  problem({ bytesPerSecond, windowMs, totalMs }: SendingFloor): HttpError | null {
    this.#count();
    if (this.#totalMs >= totalMs) return timeoutOf(`The body did not arrive within ${totalMs / 1000} s.`);
    if (this.#windowMs < windowMs) return null;
    if (this.#bytes * 1000 < bytesPerSecond * windowMs)
      return timeoutOf(
        `The body arrives too slowly: less than ${bytesPerSecond} bytes a second in ${windowMs / 1000} s.`,
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

/** The error for a body that is given up because of its client. The request took no effect. */
export function timeoutOf(message: string): HttpError {
  return new HttpError('request_timeout', message, { connection: 'close' });
}
