/**
 * Watches the memory of the process while SQL runs, and interrupts SQL before the service has to end the process.
 * DuckDB does not count lists and copies of texts, so its own memory limit does not cover them.
 */
import { readFileSync } from 'node:fs';
import { QueryError } from '../language/query-error.ts';

interface SqlMemoryOptions {
  /** SQL is interrupted when the process has more bytes of resident memory than this. */
  readonly residentBytesMax: number;
  /** Limit of resident bytes while no SQL runs. It is lower, so that memory is left for SQL. */
  readonly keptBytesMax: number;
  /** SQL is interrupted when the process has mapped more bytes of private memory than this. */
  readonly mappedBytesMax: number;
  /** Interval of readings while SQL runs, in milliseconds. */
  readonly everyMs: number;
  readonly read: () => ProcessMemory;
  /** Called when SQL is interrupted, with the memory of the process and the number of running queries. */
  readonly onInterrupt: (taken: ProcessMemory, atWork: number) => void;
  /**
   * Called when no SQL runs, and earlier SQL left so much memory in use that new SQL would soon be interrupted. Then
   * the process should end: the service starts another one, and repeats the unanswered queries there.
   */
  readonly onKept: (taken: ProcessMemory) => void;
}

/** The memory of a process, in bytes. */
export interface ProcessMemory {
  readonly resident: number;
  /** 0 on systems that do not report it. */
  readonly mapped: number;
}

/**
 * How far below the limits of the process SQL is interrupted, in bytes. DuckDB can be interrupted only between its
 * steps, so the memory of one step comes on top.
 */
export const sqlMemoryMargins: ProcessMemory = { resident: 192 * 2 ** 20, mapped: 256 * 2 ** 20 };

/** How much memory must be left for SQL while none runs, in bytes. If less is left, the process is replaced. */
export const keptRoom = 64 * 2 ** 20;

/** How long no SQL must run before the memory in use is checked, in milliseconds. */
const idleMs = 250;

/** The reason for interrupting SQL because the process uses too much memory. */
class TooMuchMemory extends Error {}

export class SqlMemory {
  readonly #options: SqlMemoryOptions;
  readonly #atWork = new Set<AbortController>();
  /** The end of the queue of SQL that was interrupted while other SQL ran, and must now run alone. */
  #alone: Promise<unknown> = Promise.resolve();
  /** How many queries run alone, or wait for that. */
  #suspects = 0;
  /** Called when no SQL runs any more. */
  readonly #onIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(options: SqlMemoryOptions) {
    this.#options = options;
  }

  /**
   * Runs the work of a query. `work` may run twice: if other SQL was running when memory ran short, the query runs
   * again alone. Rejects with QueryError `limit_exceeded` if memory ran short while it was alone, and otherwise as
   * `work` does.
   */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // Wait while suspects run alone.
    while (this.#suspects > 0) await settled(this.#alone);
    const first = await this.#attempt(signal, work);
    if (first.isDone) return first.value;
    this.#suspects += 1;
    const before = this.#alone;
    const turn = (async () => {
      await settled(before);
      await this.#idle();
      return this.#attempt(signal, work);
    })();
    this.#alone = turn;
    try {
      const second = await turn;
      if (second.isDone) return second.value;
      throw tooMuch();
    } finally {
      this.#suspects -= 1;
    }
  }

  async #attempt<T>(
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly isDone: true; readonly value: T } | { readonly isDone: false }> {
    signal.throwIfAborted();
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    // Check before the query starts: otherwise memory of earlier SQL would count against it.
    if (this.#atWork.size === 0) this.#lookAtKept();
    const own = new AbortController();
    this.#atWork.add(own);
    this.#timer ??= setInterval(() => this.#look(), this.#options.everyMs);
    try {
      return { isDone: true, value: await work(AbortSignal.any([signal, own.signal])) };
    } catch (error) {
      if (!(own.signal.reason instanceof TooMuchMemory) || error !== own.signal.reason) throw error;
      if (own.signal.reason.message === 'alone') throw tooMuch();
      return { isDone: false };
    } finally {
      this.#atWork.delete(own);
      if (this.#atWork.size === 0) {
        clearInterval(this.#timer!);
        this.#timer = null;
        for (const resolve of this.#onIdle.splice(0)) resolve();
        this.#idleTimer = setTimeout(() => this.#lookAtKept(), idleMs).unref();
      }
    }
  }

  #look(): void {
    const { residentBytesMax, mappedBytesMax, read, onInterrupt } = this.#options;
    const taken = read();
    if (taken.resident <= residentBytesMax && taken.mapped <= mappedBytesMax) return;
    // All running SQL was interrupted already, and has not ended yet.
    if ([...this.#atWork].every(({ signal }) => signal.aborted)) return;
    onInterrupt(taken, this.#atWork.size);
    const reason = new TooMuchMemory(this.#atWork.size === 1 ? 'alone' : 'beside others');
    for (const controller of this.#atWork) controller.abort(reason);
  }

  #lookAtKept(): void {
    const { keptBytesMax, mappedBytesMax, read, onKept } = this.#options;
    const taken = read();
    if (taken.resident > keptBytesMax || taken.mapped > mappedBytesMax) onKept(taken);
  }

  async #idle(): Promise<void> {
    if (this.#atWork.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }
}

function tooMuch(): QueryError {
  return new QueryError(
    'limit_exceeded',
    'The query needs more memory than allowed. Lists and copied texts take most of it.',
  );
}

async function settled(work: Promise<unknown>): Promise<void> {
  await Promise.allSettled([work]);
}

/** The present memory of this process. */
export function memoryOfProcess(): ProcessMemory {
  if (process.platform !== 'linux') return { resident: process.memoryUsage.rss(), mapped: 0 };
  // Synchronous: a trip to another thread would wait for busy threads.
  const status = readFileSync('/proc/self/status', 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { resident: bytes('VmRSS'), mapped: bytes('VmData') };
}
