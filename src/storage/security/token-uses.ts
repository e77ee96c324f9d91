/**
 * Records when tokens were last used, for administrators. Writes the uses of a minute at a time, in the background: no
 * request waits for a write or fails because of one.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { noteUses } from './token-notes.ts';

/** Write interval, in milliseconds. */
const writeInterval = 60_000;

/** Limit of tokens with buffered uses. The uses of further tokens are dropped. */
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

  /** Notes that a token was used at this log time, in milliseconds. */
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
      this.#options.logger.warn(
        { err: error },
        'the last uses of tokens could not be written; the next write in a minute includes them',
      );
      const since = this.#uses;
      this.#uses = uses;
      for (const [tokenId, time] of since) this.add(tokenId, time);
    }
  }
}
