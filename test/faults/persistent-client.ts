/** A client of processes that are killed while they answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, type Answer, type Client, type Send } from '../support/client.ts';

/**
 * Whether this is the error that fetch throws when a connection breaks. Its class is not the one of this file's realm.
 */
export function isBrokenConnection(error: unknown): boolean {
  return (error as Error).name === 'TypeError';
}

/**
 * Sends requests to any of the processes, and repeats each until its result is known. A repeated request must take
 * effect only once.
 */
export class PersistentClient {
  readonly #clients: readonly Client[];
  readonly #random: () => number;

  constructor(clients: readonly Client[], random: () => number) {
    this.#clients = clients;
    this.#random = random;
  }

  /** One try; null if the connection broke before the answer. */
  async ask(path: string, options: Send): Promise<Answer | null> {
    const client = this.#clients[Math.floor(this.#random() * this.#clients.length)]!;
    try {
      return await client.send(path, options);
    } catch (error) {
      if (isBrokenConnection(error)) return null;
      throw error;
    }
  }

  /** Repeats the request until the answer is not "later". */
  async untilAnswered(path: string, options: Send): Promise<Answer> {
    for (;;) {
      const answer = await this.ask(path, options);
      if (answer !== null && answer.status !== 503) return answer;
      await sleep(30);
    }
  }

  /** Repeats the request until it succeeds. Throws if it is refused. */
  async untilDone(path: string, options: Send): Promise<Answer> {
    const answer = await this.untilAnswered(path, options);
    if (answer.status >= 300) throw new Error(`${options.method} ${path}: ${outcomeOf(answer)} ${answer.text}`);
    return answer;
  }
}
