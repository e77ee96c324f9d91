/** A queue in which whoever waits with much does not keep others waiting. */

interface Waiting<Item> {
  readonly item: Item;
  /** How much the owner has had, and will have had with this item, by the clock of the queue. */
  readonly finish: number;
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996): items of one owner keep their order; among owners, the one comes next whose share
 * so far is the least. An owner that comes anew begins where the others are, so that it neither waits for them nor overtakes for long.
 */
export class FairQueue<Item> {
  readonly #ownerOf: (item: Item) => string;
  readonly #costOf: (item: Item) => number;
  readonly #owners = new Map<string, Waiting<Item>[]>();
  /** What an owner has had that was served last. */
  #clock = 0;
  #length = 0;

  constructor(ownerOf: (item: Item) => string, costOf: (item: Item) => number) {
    this.#ownerOf = ownerOf;
    this.#costOf = costOf;
  }

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    const owner = this.#ownerOf(item);
    const items = this.#owners.get(owner) ?? [];
    const start = items.at(-1)?.finish ?? this.#clock;
    items.push({ item, finish: start + this.#costOf(item) });
    this.#owners.set(owner, items);
    this.#length += 1;
  }

  /** The item that comes next; undefined if there is none. */
  peek(): Item | undefined {
    return this.#next()?.[1][0]!.item;
  }

  /** Takes out the item that comes next. */
  shift(): Item | undefined {
    const next = this.#next();
    if (next === null) return undefined;
    const [owner, items] = next;
    const { item, finish } = items.shift()!;
    this.#clock = Math.max(this.#clock, finish - this.#costOf(item));
    if (items.length === 0) this.#owners.delete(owner);
    this.#length -= 1;
    return item;
  }

  /** Takes out all items, those of one owner in their order. */
  takeAll(): Item[] {
    const all = [...this.#owners.values()].flatMap((items) => items.map(({ item }) => item));
    this.#owners.clear();
    this.#length = 0;
    return all;
  }

  #next(): readonly [owner: string, items: Waiting<Item>[]] | null {
    let next: readonly [string, Waiting<Item>[]] | null = null;
    for (const entry of this.#owners) {
      if (next === null || entry[1][0]!.finish < next[1][0]!.finish) next = entry;
    }
    return next;
  }
}
