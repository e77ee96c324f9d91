/**
 * Records when tokens were last used, for administrators. Written in the background, a minute of uses at a time: no
 * request waits for it, and none fails with it.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { noteUses } from './token-notes.ts';

/** Write interval, in milliseconds. */
const writeInterval = 60_000;

/** Limit of tokens whose uses are buffered. The uses of further tokens are dropped. */
const tokensMax = 50_000;

interface TokenUsesOptions {
  readonly pool: pg.Pool;
  readonly logger: Pick<Logger, 'warn'>;
  readonly interval?: number;
}

export class TokenUses {
  readonly #options: TokenUsesOptions;
  readonly #timer: NodeJS.Timeout;
  #uses = new Map<string, number>();
  #writing: Promise<void> | null = null;

  constructor(options: TokenUsesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = null;
      });
    }, options.interval ?? writeInterval);
  }

  /** A token was used at this log time, in milliseconds. */
  add(tokenId: string, time: number): void {
    if (this.#uses.size < tokensMax || this.#uses.has(tokenId)) this.#uses.set(tokenId, time);
  }

  /** Writes the remaining uses. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#write();
  }

  async #write(): Promise<void> {
    const uses = this.#uses;
    if (uses.size === 0) return;
    this.#uses = new Map();
    try {
      await noteUses(this.#options.pool, uses);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'when tokens were last used could not be noted; it is tried again');
      const since = this.#uses;
      this.#uses = uses;
      for (const [tokenId, time] of since) this.add(tokenId, time);
    }
  }
}
