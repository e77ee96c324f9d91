/**
 * Simulated time: all timers of this process run on it, in the order of one queue. Nothing waits, and a seed decides
 * what happens. Each timer belongs to the simulated process that set it, which can be paused, or killed; then its
 * timers are late, or never run.
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

/** A process as the clock knows it: a machine with a clock of its own, that may be paused or killed. */
export class SimulatedProcess {
  readonly name: string;
  /** By how much its wall clock is ahead of the simulated time, in milliseconds. */
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

  /** It stands still until `resume`. */
  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.runsSince = clock.now;
    for (const timer of held) clock.put(timer);
  }

  /** Keeps a timer that is due while the process stands still. Returns false when it may run. */
  hold(timer: Timer): boolean {
    this.#held?.push(timer);
    return this.#held !== null;
  }
}

const processes = new AsyncLocalStorage<SimulatedProcess>();

/** The process that runs. Throws if it is none: then this is the simulation itself. */
export function currentProcess(): SimulatedProcess {
  const process = processes.getStore();
  if (process === undefined) throw new Error('this is a part of no simulated process');
  return process;
}

/** How many turns of the queue of promises come between two timers, and how many more before a pause. */
const turnsAtOnce = 20;
const turnsBeforePause = 200;

/** From how many milliseconds on it is a pause when no timer is due. */
const pauseMs = 10;

/** How often it is checked whether all is right, in milliseconds of simulated time. */
const checkInterval = 1000;

/** A binary heap of timers. */
class Clock {
  /** Milliseconds since the simulation began. */
  now = 0;
  readonly #timers: Timer[] = [];
  #order = 0;

  /** Runs a function after this many milliseconds, as a part of the process that is running, or of `process`. */
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

  /** Resolves after this many milliseconds; never if the process that is running is killed before. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.schedule(ms, resolve));
  }

  /**
   * Runs timers until the promise settles. Rejects when simulated time passes `limit` (milliseconds) before, when
   * `check`, which is called every second of simulated time, finds something wrong, and when no timer is left: then
   * nothing can ever happen.
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
      // Lets pending promises settle before the next timer. A few may settle after it, as on a slow processor; but no
      // processor is as slow as the pauses while hardly anything happens. Waiting for a turn of the event loop would
      // settle all of them, and take longer.
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

/** The clock of the history that is simulated now. */
export let clock = new Clock();

/** Begins a history: time, and all IDs. */
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
 * Puts simulated time and seeded IDs into the place of those of Node.js. Call it before the code that is to use them is
 * imported.
 */
export function simulateTime(): void {
  const set = (ms: number, run: (...args: unknown[]) => void, args: unknown[]): Timer =>
    clock.schedule(ms, () => run(...args));
  const clear = (timer: Timer | undefined): void => {
    if (timer) timer.isCleared = true;
  };
  const simulated = {
    setTimeout: (run: () => void, ms = 0, ...args: unknown[]) => set(ms, run, args),
    // Of no process: code that all processes share here waits for its turn (src/language/time-slices.ts), also behind
    // one that has been killed since.
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
