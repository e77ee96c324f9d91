/** Watches a query process from outside: its resident memory, and whether it answers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { EngineAddress } from './engine-addresses.ts';

const run = promisify(execFile);

/** Intervals and time limits of the watch, in milliseconds. */
interface WatchTimes {
  readonly memoryEveryMs: number;
  readonly probeEveryMs: number;
  /** Time limit for the answer to a probe. */
  readonly probeMs: number;
}

export const watchTimes: WatchTimes = {
  // On other systems than Linux, each reading starts a process (`ps`).
  memoryEveryMs: process.platform === 'linux' ? 100 : 1000,
  probeEveryMs: 5000,
  probeMs: 5000,
};

/**
 * After this many probes in a row without an answer, the process counts as hanging. A single probe may fail because the
 * whole machine slept.
 */
const missesMax = 3;

interface ProcessWatchOptions extends WatchTimes {
  readonly pid: number;
  readonly address: EngineAddress;
  readonly residentBytesMax: number;
  /** Called once, with the reason, when the process must be ended. */
  readonly onBad: (reason: string) => void;
}

export class ProcessWatch {
  readonly #options: ProcessWatchOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  #isReading = false;
  #isProbing = false;
  #misses = 0;
  #isClosed = false;

  constructor(options: ProcessWatchOptions) {
    this.#options = options;
    this.#timers = [
      setInterval(() => void this.#checkMemory(), options.memoryEveryMs).unref(),
      setInterval(() => void this.#probe(), options.probeEveryMs).unref(),
    ];
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #checkMemory(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { pid, residentBytesMax } = this.#options;
    const bytes = await residentBytes(pid);
    this.#isReading = false;
    if (bytes > residentBytesMax)
      this.#end(`it uses ${bytes} bytes of memory, more than its limit of ${residentBytesMax}`);
  }

  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const {
      address: { url, secret },
      probeMs,
    } = this.#options;
    try {
      const response = await fetch(`${url}/probe`, {
        headers: { authorization: secret },
        signal: AbortSignal.timeout(probeMs),
      });
      await response.arrayBuffer();
      this.#misses = 0;
    } catch {
      this.#misses += 1;
      if (this.#misses >= missesMax) this.#end('it does not answer');
    } finally {
      this.#isProbing = false;
    }
  }

  #end(reason: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onBad(reason);
  }
}

/** The resident memory of a process; 0 if it has ended. */
async function residentBytes(pid: number): Promise<number> {
  try {
    // Read synchronously: this takes less time than a trip to a thread of the pool, which may be busy.
    const kib =
      process.platform === 'linux'
        ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        : (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}
