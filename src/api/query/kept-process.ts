/** A query process that is started when it is first asked, and anew when it has ended. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineGone } from './ask-process.ts';
import { EngineProcess, type EngineProcessOptions, type ProcessExit } from './engine-process.ts';
import type { EngineUse } from './protocol.ts';

interface KeptProcessOptions extends EngineProcessOptions {
  /** Called when a process takes requests, before it gets the first one. If this rejects, the process is ended. */
  readonly onReady: (started: EngineProcess) => Promise<void>;
}

/**
 * How long after a connection broke the process may take to end, in milliseconds. On a busy machine, one of low
 * priority takes seconds to give its memory back.
 */
const endMs = 20_000;

/** How long it may take to say what it has in use, in milliseconds: less than a scrape of metrics waits. */
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

  /** How often it was started, and how often in vain. */
  get starts(): number {
    return this.#starts;
  }

  get failedStarts(): number {
    return this.#failedStarts;
  }

  /** How often it ended in such a way that a query may have ended it. */
  get crashes(): number {
    return this.#crashes;
  }

  /** Why it could not be started the last time; null if it could. */
  get problem(): string | null {
    return this.#problem;
  }

  /** The process that takes requests now; null if there is none. */
  async running(): Promise<EngineProcess | null> {
    return (await this.#running?.catch(() => null)) ?? null;
  }

  /** Starts it unless it runs. Rejects with EngineGone. */
  async start(): Promise<EngineProcess> {
    if (this.#isClosed) throw new EngineGone('The service is stopping.');
    this.#running ??= this.#launch();
    return this.#running;
  }

  /**
   * Asks the process; if it ends before it has answered, asks once more in the next one: queries only read. Rejects
   * with EngineGone if that ends too, and as `work` does.
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

  /** What it has in use; null while there is no process. Rejects if it does not answer in time. */
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
        logger.warn({ engine: kind, ...exit }, 'a query process has ended; the next query starts it anew');
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
 * Whether a process has ended, or does so at once. A connection to it breaks a moment before it is known to have ended.
 */
export async function hasEnded({ exited }: EngineProcess): Promise<boolean> {
  const waiting = new AbortController();
  const late = sleep(endMs, false, { signal: waiting.signal }).catch(() => false);
  const ended = await Promise.race([exited.then(() => true), late]);
  waiting.abort();
  return ended;
}
