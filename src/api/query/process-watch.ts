/** Watches a query process from outside: its resident memory, and whether it answers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { EngineAddress } from './engine-addresses.ts';

const run = promisify(execFile);

/** How often it is looked at, in milliseconds. */
interface WatchTimes {
  readonly memoryEveryMs: number;
  readonly probeEveryMs: number;
  /** How long the process has to answer a probe. */
  readonly probeMs: number;
}

export const watchTimes: WatchTimes = {
  // Elsewhere than on Linux that takes a process each time.
  memoryEveryMs: process.platform === 'linux' ? 100 : 1000,
  probeEveryMs: 5000,
  probeMs: 5000,
};

/**
 * After so many probes without an answer in sequence the process is taken to hang. One may be late because the whole
 * machine slept.
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
    if (bytes > residentBytesMax) this.#end(`it takes ${bytes} bytes of memory, and may take ${residentBytesMax}`);
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

/** The resident memory of a process; 0 if it is gone. */
async function residentBytes(pid: number): Promise<number> {
  try {
    // At once: this takes less time than a trip to another thread, which may have much to do.
    const kib =
      process.platform === 'linux'
        ? /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
        : (await run('ps', ['-o', 'rss=', '-p', String(pid)])).stdout;
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}
