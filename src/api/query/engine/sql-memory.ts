/**
 * Looks at the memory of the process while SQL is at work, and interrupts SQL before the service has to end the
 * process. DuckDB does not count what lists and copies of texts take, so its own limit does not hold them.
 */
import { readFileSync } from 'node:fs';
import { QueryError } from '../language/query-error.ts';

interface SqlMemoryOptions {
  /** SQL is interrupted when the process has more bytes of resident memory than this. */
  readonly residentBytesMax: number;
  /** The most resident bytes that it may keep while no SQL is at work: less, so that there is room for SQL. */
  readonly keptBytesMax: number;
  /** The same as `residentBytesMax` for the private memory that it has mapped. */
  readonly mappedBytesMax: number;
  /** How often it is looked at while SQL is at work, in milliseconds. */
  readonly everyMs: number;
  readonly read: () => ProcessMemory;
  /** Called when SQL is interrupted, with what the process takes and how many queries were at work. */
  readonly onInterrupt: (taken: ProcessMemory, atWork: number) => void;
  /**
   * Called when no SQL is at work, and the process keeps so much that SQL would soon be interrupted for what earlier
   * SQL took. Then the process should end: the service starts another one, and asks it what this one was asked.
   */
  readonly onKept: (taken: ProcessMemory) => void;
}

/** What a process takes, in bytes. */
export interface ProcessMemory {
  readonly resident: number;
  /** 0 on systems that do not say it. */
  readonly mapped: number;
}

/**
 * How far below the bounds of the process SQL is interrupted, in bytes: what one step of DuckDB takes comes on top,
 * because it is interrupted between its steps only.
 */
export const sqlMemoryMargins: ProcessMemory = { resident: 192 * 2 ** 20, mapped: 256 * 2 ** 20 };

/**
 * How much must be left for SQL before it is interrupted, in bytes: a process that keeps more than leaves this is
 * replaced.
 */
export const keptRoom = 64 * 2 ** 20;

/** For how long no SQL is at work before it is looked at what the process keeps, in milliseconds. */
const idleMs = 250;

/** The reason of SQL that was interrupted because the process takes too much. */
class TooMuchMemory extends Error {}

export class SqlMemory {
  readonly #options: SqlMemoryOptions;
  readonly #atWork = new Set<AbortController>();
  /** SQL that was interrupted beside others waits here for its turn alone. */
  #alone: Promise<unknown> = Promise.resolve();
  /** How many run alone, or wait for that. */
  #suspects = 0;
  /** Called when nothing is at work any more. */
  readonly #onIdle: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(options: SqlMemoryOptions) {
    this.#options = options;
  }

  /**
   * Does the work of one query. `work` may be done twice: if other SQL was at work when the memory ran short, the query
   * is asked again alone. Rejects with QueryError `limit_exceeded` if it was alone, and otherwise as the work does.
   */
  async run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    // Those that came while others run alone wait until these are done.
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
    // Its memory would be that of earlier SQL.
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
    // Interrupted before, and not at its end yet.
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
    'The query takes more memory than a query may: lists, and texts that are copied, take most.',
  );
}

async function settled(work: Promise<unknown>): Promise<void> {
  await Promise.allSettled([work]);
}

/** What this process takes now. */
export function memoryOfProcess(): ProcessMemory {
  if (process.platform !== 'linux') return { resident: process.memoryUsage.rss(), mapped: 0 };
  // At once: a trip to another thread would wait for the threads that are at work.
  const status = readFileSync('/proc/self/status', 'utf8');
  const bytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return { resident: bytes('VmRSS'), mapped: bytes('VmData') };
}
