/** A query process that starts at the first query, and again after it has ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineGone } from './ask-process.ts';
import { EngineProcess, type EngineProcessOptions, type ProcessExit } from './engine-process.ts';
import type { EngineUse } from './protocol.ts';

interface KeptProcessOptions extends EngineProcessOptions {
  /** Called when a process accepts requests, before it gets the first one. If it rejects, the process is ended. */
  readonly onReady: (started: EngineProcess) => Promise<void>;
}

/**
 * How long a process may take to end after its connection broke, in milliseconds. On a busy machine, a process of low
 * priority takes seconds to free its memory.
 */
const endMs = 20_000;

/** Time limit of `use`, in milliseconds. It is shorter than a scrape waits. */
const useMs = 1500;

export class KeptProcess {
  readonly #options: KeptProcessOptions;
  #running: Promise<EngineProcess> | null = null;
  #isClosed = false;
  #starts = 0;
  #failedStarts = 0;
  #crashes = 0;
  #problem: string | null = null;

  constructor(options: KeptProcessOptions) {
    this.#options = options;
  }

  /** How often a process was started. */
  get starts(): number {
    return this.#starts;
  }

  get failedStarts(): number {
    return this.#failedStarts;
  }

  /** How often a process ended in a way that a query may have caused. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Why the last start failed; null if it succeeded. */
  get problem(): string | null {
    return this.#problem;
  }

  /** The process that accepts requests now; null if there is none. */
  async running(): Promise<EngineProcess | null> {
    return (await this.#running?.catch(() => null)) ?? null;
  }

  /** Starts the process unless it runs. Rejects with EngineGone if it cannot be started. */
  async start(): Promise<EngineProcess> {
    if (this.#isClosed) throw new EngineGone('The service is stopping.');
    this.#running ??= this.#launch();
    return this.#running;
  }

  /**
   * Runs `work` with the process. If the process ends before it has answered, runs `work` once more with the next
   * process, which is safe because queries only read. Rejects with EngineGone if that ends too, and as `work` does.
   */
  async ask<T>(work: (running: EngineProcess) => Promise<T>): Promise<T> {
    const first = await this.start();
    try {
      return await work(first);
    } catch (error) {
      if (!(error instanceof EngineGone) || !(await hasEnded(first))) throw error;
    }
    return work(await this.start());
  }

  /** The resources in use by the process; null while there is none. Rejects if the process does not answer in time. */
  async use(): Promise<EngineUse | null> {
    const running = await this.running();
    if (running === null) return null;
    const { url, secret } = running.address;
    const response = await fetch(`${url}/use`, {
      headers: { authorization: secret },
      signal: AbortSignal.timeout(useMs),
    });
    return (await response.json()) as EngineUse;
  }

  /** Ends the process, if there is one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.running())?.close();
  }

  #launch(): Promise<EngineProcess> {
    const { onReady, ...options } = this.#options;
    const { kind, logger } = options;
    this.#starts += 1;
    const onExit = (exit: ProcessExit): void => {
      if (this.#running === running) this.#running = null;
      if (exit.isCrash) this.#crashes += 1;
      options.onExit(exit);
      if (!this.#isClosed)
        logger.warn({ engine: kind, ...exit }, 'a query process has ended; the next query starts it again');
    };
    const running: Promise<EngineProcess> = EngineProcess.launch({ ...options, onExit })
      .then(async (started) => {
        try {
          await onReady(started);
          this.#problem = null;
          return started;
        } catch (error) {
          await started.close();
          throw error;
        }
      })
      .catch((error: unknown) => {
        if (this.#running === running) this.#running = null;
        if (!this.#isClosed) {
          this.#failedStarts += 1;
          this.#problem = `The query process for ${kind === 'sql' ? 'SQL' : 'filters, sorts, groups and exports'} could not be started.`;
          logger.error({ err: error, engine: kind }, 'a query process could not be started');
        }
        throw new EngineGone('The query engine could not be started.', { cause: error });
      });
    return running;
  }
}

/**
 * Whether a process has ended, or ends within 20 s. A connection breaks a moment before the exit of its process is
 * known.
 */
export async function hasEnded({ exited }: EngineProcess): Promise<boolean> {
  const waiting = new AbortController();
  const late = sleep(endMs, false, { signal: waiting.signal }).catch(() => false);
  const ended = await Promise.race([exited.then(() => true), late]);
  waiting.abort();
  return ended;
}
