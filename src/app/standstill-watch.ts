/**
 * Ends a process that hangs. If an append waits for ever because of a bug, for example a promise that is never settled,
 * a restart helps and waiting does not. If the service shows operators another reason, a restart would not help
 * (docs/decisions/0045-a-process-that-hangs-ends-itself.md).
 */
import type { Logger } from 'pino';
import type { EventLog, Standstill } from '../log/event-log.ts';
import { withScrapeTimeout } from '../operations/metrics/scrape-timeout.ts';

/** The longest interval between checks, in milliseconds. */
const lookInterval = 1000;

/** If a check comes this much too late, in milliseconds, the whole process stood still. */
const lateMin = 2000;

/** After standing still for this long at the latest, a process is not ready, in milliseconds. */
const readyMax = 30_000;

interface StandstillWatchOptions {
  readonly log: Pick<EventLog, 'standstills'>;
  /** Resolves when Postgres has answered; rejects when it cannot be reached. */
  readonly askPostgres: () => Promise<unknown>;
  /** How long a partition may hang before the process ends, in milliseconds; 0: the process never ends for that. */
  readonly endMs: number;
  /** Called once, with the reason, when the process should end. */
  readonly onHangs: (reason: string) => void;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

export class StandstillWatch {
  readonly #options: StandstillWatchOptions;
  readonly #interval: number;
  readonly #readyMs: number;
  readonly #timer: NodeJS.Timeout;
  /** Since when only this process can be the reason, by `performance.now`. */
  #clearSince = performance.now();
  #lookedAt = performance.now();
  #looking: Promise<void> | null = null;
  #problem: string | null = null;
  #hangs = false;

  constructor(options: StandstillWatchOptions) {
    this.#options = options;
    const { endMs } = options;
    this.#readyMs = endMs === 0 ? readyMax : Math.min(readyMax, endMs / 4);
    this.#interval = Math.min(lookInterval, this.#readyMs / 5);
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
      });
    }, this.#interval);
  }

  /**
   * A sentence that names the partition that stands still, and for how long. Null if none does, or if there is another
   * reason.
   */
  get problem(): string | null {
    return this.#problem;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    const { log, askPostgres, endMs, onHangs } = this.#options;
    const now = performance.now();
    // The process could not even have received answers in that time.
    if (now - this.#lookedAt > this.#interval + lateMin) this.#clearSince = now;
    this.#lookedAt = now;
    const standstills = log.standstills();
    if (longestOf(standstills, 'undecidedMs')[1] < this.#readyMs) return this.#show(null);
    if ((await withScrapeTimeout(() => askPostgres().then(() => true))) !== true) {
      this.#clearSince = performance.now();
      return this.#show(null);
    }
    const clearMs = performance.now() - this.#clearSince;
    const [standing, undecidedMs] = longestOf(standstills, 'undecidedMs');
    this.#show(Math.min(undecidedMs, clearMs) < this.#readyMs ? null : describe(standing!, undecidedMs));
    const [hanging, silentMs] = longestOf(standstills, 'silentMs');
    if (endMs === 0 || this.#hangs || Math.min(silentMs, clearMs) < endMs) return;
    this.#hangs = true;
    onHangs(`${describe(hanging!, silentMs)} This process hangs. It ends now, so that it is restarted.`);
  }

  #show(problem: string | null): void {
    const { logger } = this.#options;
    if (problem !== null && this.#problem === null) logger.warn(problem);
    if (problem === null && this.#problem !== null)
      logger.info('no partition stands still any more, or there is another reason');
    this.#problem = problem;
  }
}

function longestOf(
  standstills: readonly Standstill[],
  by: 'undecidedMs' | 'silentMs',
): readonly [Standstill | null, number] {
  let longest: Standstill | null = null;
  for (const standstill of standstills) if (longest === null || standstill[by] > longest[by]) longest = standstill;
  return [longest, longest?.[by] ?? 0];
}

function describe({ partition, what }: Standstill, ms: number): string {
  return `Partition ${partition} has stood still for ${Math.round(ms / 1000)} s: ${what}.`;
}
