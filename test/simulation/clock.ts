/**
 * Simulated time. All timers of this program run on it, in the order of one queue, so nothing waits in real time, and a
 * seed decides what happens. Each timer belongs to the simulated process that set it. If that process is paused, its
 * timers are late; if it is killed, they never run.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import type { Random } from '../support/random.ts';

/** When simulated time begins, in milliseconds since 1970. */
const epoch = Date.UTC(2026, 0, 1);

interface Timer {
  at: number;
  readonly order: number;
  readonly run: () => void;
  readonly process: SimulatedProcess | null;
  isCleared: boolean;
}

/** A process as the clock knows it: a machine with its own clock, which may be paused or killed. */
export class SimulatedProcess {
  readonly name: string;
  /** How far its wall clock is ahead of the simulated time, in milliseconds. */
  skew = 0;
  isAlive = true;
  /** When it was started or resumed, in simulated milliseconds. */
  runsSince: number;
  #held: Timer[] | null = null;

  constructor(name: string) {
    this.name = name;
    this.runsSince = clock.now;
  }

  get isPaused(): boolean {
    return this.#held !== null;
  }

  /** Runs work as a part of this process. */
  run<T>(work: () => T): T {
    return processes.run(this, work);
  }

  kill(): void {
    this.isAlive = false;
  }

  /** Pauses it until `resume`. */
  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.runsSince = clock.now;
    for (const timer of held) clock.put(timer);
  }

  /** Keeps a due timer while the process is paused. Returns false if the timer may run. */
  hold(timer: Timer): boolean {
    this.#held?.push(timer);
    return this.#held !== null;
  }
}

const processes = new AsyncLocalStorage<SimulatedProcess>();

/** The process that is running. Throws if there is none, which means that the simulation itself is running. */
export function currentProcess(): SimulatedProcess {
  const process = processes.getStore();
  if (process === undefined) throw new Error('this is a part of no simulated process');
  return process;
}

/** How many turns of the promise queue come between two timers, and how many more before a pause. */
const turnsAtOnce = 20;
const turnsBeforePause = 200;

/** If no timer is due for this many milliseconds, that counts as a pause. */
const pauseMs = 10;

/** The interval of checks for problems, in milliseconds of simulated time. */
const checkInterval = 1000;

/** A binary heap of timers. */
class Clock {
  /** Milliseconds since the simulation began. */
  now = 0;
  readonly #timers: Timer[] = [];
  #order = 0;

  /** Runs a function after this many milliseconds, as a part of the running process, or of `process`. */
  schedule(ms: number, run: () => void, process: SimulatedProcess | null = processes.getStore() ?? null): Timer {
    this.#order += 1;
    const timer = { at: this.now + Math.max(ms, 0), order: this.#order, run, process, isCleared: false };
    this.put(timer);
    return timer;
  }

  put(timer: Timer): void {
    timer.at = Math.max(timer.at, this.now);
    const heap = this.#timers;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  /** Resolves after this many milliseconds; never if the running process is killed before. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.schedule(ms, resolve));
  }

  /**
   * Runs timers until the promise settles. Rejects if simulated time exceeds `limit` (milliseconds), if `check`, which
   * is called every second of simulated time, finds a problem, and if no timer is left, because then nothing can ever
   * happen.
   */
  async runUntil<T>(promise: Promise<T>, limit: number, check: () => void): Promise<T> {
    let isSettled = false;
    let checkedAt = this.now;
    void promise
      .catch(() => undefined)
      .finally(() => {
        isSettled = true;
      });
    for (;;) {
      // Lets pending promises settle before the next timer. A few may settle after it, as on a slow processor, but no
      // processor is as slow as the pauses in which hardly anything happens. Waiting for a turn of the event loop would
      // settle all promises, but take longer.
      for (let turn = 0; turn < turnsAtOnce; turn += 1) await Promise.resolve();
      if ((this.#timers[0]?.at ?? 0) > this.now + pauseMs)
        for (let turn = 0; turn < turnsBeforePause; turn += 1) await Promise.resolve();
      if (isSettled) return promise;
      const timer = this.#take();
      if (timer === null) throw new Error('everything waits, and nothing is going to happen');
      this.now = timer.at;
      if (this.now >= checkedAt + checkInterval) {
        checkedAt = this.now;
        check();
      }
      if (this.now > limit) throw new Error(`it goes on after ${limit} ms`);
      if (timer.process?.isAlive !== false && !timer.process?.hold(timer)) timer.run();
    }
  }

  #take(): Timer | null {
    const heap = this.#timers;
    for (;;) {
      const [first] = heap;
      if (first === undefined) return null;
      const last = heap.pop()!;
      if (heap.length > 0) this.#sink(last);
      if (!first.isCleared) return first;
    }
  }

  #sink(timer: Timer): void {
    const heap = this.#timers;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, timer)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = timer;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** The clock of the present history. */
export let clock = new Clock();

/** Begins a history: resets the time and all IDs. */
export function beginHistory(random: Random): void {
  clock = new Clock();
  newId = () => random.uuid();
}

/** The simulated wall clock of the process that is running. */
export function wallClock(): number {
  return epoch + clock.now + (processes.getStore()?.skew ?? 0);
}

let newId: () => string;

/**
 * Replaces the time and the IDs of Node.js by simulated time and seeded IDs. Call it before importing code that uses
 * them.
 */
export function simulateTime(): void {
  const set = (ms: number, run: (...args: unknown[]) => void, args: unknown[]): Timer =>
    clock.schedule(ms, () => run(...args));
  const clear = (timer: Timer | undefined): void => {
    if (timer) timer.isCleared = true;
  };
  const simulated = {
    setTimeout: (run: () => void, ms = 0, ...args: unknown[]) => set(ms, run, args),
    // It belongs to no process, because code that all processes share here waits for its turn
    // (src/language/time-slices.ts), possibly after a process that has been killed since.
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) =>
      clock.schedule(0, () => run(...args), null),
    setInterval: (run: () => void, ms: number) => {
      const repeat = (): void => {
        run();
        if (!timer.isCleared) clock.put(Object.assign(timer, { at: clock.now + ms }));
      };
      const timer = clock.schedule(ms, repeat);
      return timer;
    },
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
    performance: {
      now: () => clock.now,
      get timeOrigin() {
        return wallClock() - clock.now;
      },
    },
  };
  for (const [name, value] of Object.entries(simulated))
    Object.defineProperty(globalThis, name, { value, configurable: true });
  Date.now = () => Math.floor(wallClock());
  const sleep = (ms = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const abort = (): void => {
        clear(timer);
        reject(signal!.reason as Error);
      };
      const timer = clock.schedule(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      });
      if (signal?.aborted) abort();
      else signal?.addEventListener('abort', abort, { once: true });
    });
  Object.assign(timers, { setTimeout: sleep });
  Object.assign(crypto, { randomUUID: () => newId(), randomUUIDv7: () => newId() });
  syncBuiltinESMExports();
}
