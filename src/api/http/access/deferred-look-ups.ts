/**
 * Looks up the tokens of clients that have sent many wrong ones. One query looks up all tokens of a second, however
 * many come (docs/decisions/0028).
 */
import type { KnownToken } from '../../../../projections/teams/teams.queries.ts';

/** How long the first token of a batch waits for others, in milliseconds. */
const waitMs = 1000;

/** Maximum of different tokens in a batch. */
const tokensMax = 1000;

type FindAll = (tokens: readonly string[]) => Promise<ReadonlyMap<string, KnownToken>>;

interface Batch {
  readonly tokens: Set<string>;
  readonly found: ReturnType<FindAll>;
}

export class DeferredLookUps {
  readonly #findAll: FindAll;
  #batch: Batch | null = null;

  constructor(findAll: FindAll) {
    this.#findAll = findAll;
  }

  /**
   * Resolves with null if there is no such token. Returns null at once if the batch is full. Rejects as the query does.
   */
  find(token: string): Promise<KnownToken | null> | null {
    this.#batch ??= this.#begin();
    const { tokens, found } = this.#batch;
    if (tokens.size >= tokensMax && !tokens.has(token)) return null;
    tokens.add(token);
    return found.then((known) => known.get(token) ?? null);
  }

  #begin(): Batch {
    const tokens = new Set<string>();
    const found = new Promise<void>((resolve) => setTimeout(resolve, waitMs)).then(() => {
      this.#batch = null;
      return this.#findAll([...tokens]);
    });
    return { tokens, found };
  }
}
