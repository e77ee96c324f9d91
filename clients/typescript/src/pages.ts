/** Lists that the service returns in pages. */

/** A page, and the continuation of the next one; undefined on the last page. */
export interface Page<T> {
  readonly data: readonly T[];
  readonly continuation?: string | undefined;
}

/** A list. Iterating over it requests one page after the other, as the items are read. */
export class Pages<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #ask: (continuation: string | undefined) => Promise<P>;

  constructor(ask: (continuation: string | undefined) => Promise<P>) {
    this.#ask = ask;
  }

  /** One page: the first one, or the one of a `continuation`. */
  page(continuation?: string): Promise<P> {
    return this.#ask(continuation);
  }

  /** The items. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** The pages. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let continuation: string | undefined;
    do {
      const page = await this.#ask(continuation);
      yield page;
      continuation = page.continuation;
    } while (continuation !== undefined);
  }

  /** All items, in memory. */
  async toArray(): Promise<T[]> {
    const items: T[] = [];
    for await (const { data } of this.pages()) items.push(...data);
    return items;
  }
}
