/** A client of processes that are killed under it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, type Answer, type Client, type Send } from '../support/client.ts';

/** Whether it is what fetch throws when a connection breaks; its class is another one than this file's. */
export function isBrokenConnection(error: unknown): boolean {
  return (error as Error).name === 'TypeError';
}

/**
 * Asks any of the processes, and again until it is told what became of a request. What it says twice must not happen
 * twice.
 */
export class PersistentClient {
  readonly #clients: readonly Client[];
  readonly #random: () => number;

  constructor(clients: readonly Client[], random: () => number) {
    this.#clients = clients;
    this.#random = random;
  }

  /** One try; null when the connection broke before the answer was there. */
  async ask(path: string, options: Send): Promise<Answer | null> {
    const client = this.#clients[Math.floor(this.#random() * this.#clients.length)]!;
    try {
      return await client.send(path, options);
    } catch (error) {
      if (isBrokenConnection(error)) return null;
      throw error;
    }
  }

  /** Tries until there is an answer that is not "later". */
  async untilAnswered(path: string, options: Send): Promise<Answer> {
    for (;;) {
      const answer = await this.ask(path, options);
      if (answer !== null && answer.status !== 503) return answer;
      await sleep(30);
    }
  }

  /** Tries until it succeeds. Throws when it is refused. */
  async untilDone(path: string, options: Send): Promise<Answer> {
    const answer = await this.untilAnswered(path, options);
    if (answer.status >= 300) throw new Error(`${options.method} ${path}: ${outcomeOf(answer)} ${answer.text}`);
    return answer;
  }
}
