/** A queue in which whoever waits with much does not keep others waiting. */

interface Waiting<Item> {
  readonly item: Item;
  /** How much the owner has had, and will have had with this item, by the clock of the queue. */
  readonly finish: number;
  /** The one behind it, of the same owner. */
  next: Waiting<Item> | null;
}

/** What waits of an owner: a list, because to take the first one out of a long array moves all others. */
interface Owned<Item> {
  first: Waiting<Item>;
  last: Waiting<Item>;
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996): items of one owner keep their order; among owners, the one
 * comes next whose share so far is the least. An owner that comes anew begins where the others are, so that it neither
 * waits for them nor overtakes for long.
 */
export class FairQueue<Item> {
  readonly #ownerOf: (item: Item) => string;
  readonly #costOf: (item: Item) => number;
  readonly #owners = new Map<string, Owned<Item>>();
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
    const owned = this.#owners.get(owner);
    const waiting: Waiting<Item> = {
      item,
      finish: (owned?.last.finish ?? this.#clock) + this.#costOf(item),
      next: null,
    };
    if (owned === undefined) {
      this.#owners.set(owner, { first: waiting, last: waiting });
    } else {
      owned.last.next = waiting;
      owned.last = waiting;
    }
    this.#length += 1;
  }

  /** The item that comes next; undefined if there is none. */
  peek(): Item | undefined {
    return this.#next()?.[1].first.item;
  }

  /** Takes out the item that comes next. */
  shift(): Item | undefined {
    const found = this.#next();
    if (found === null) return undefined;
    const [owner, owned] = found;
    const { item, finish, next } = owned.first;
    this.#clock = Math.max(this.#clock, finish - this.#costOf(item));
    if (next === null) this.#owners.delete(owner);
    else owned.first = next;
    this.#length -= 1;
    return item;
  }

  /** Takes out all items, those of one owner in their order. */
  takeAll(): Item[] {
    const all: Item[] = [];
    for (const { first } of this.#owners.values()) {
      for (let waiting: Waiting<Item> | null = first; waiting !== null; waiting = waiting.next) all.push(waiting.item);
    }
    this.#owners.clear();
    this.#length = 0;
    return all;
  }

  #next(): readonly [owner: string, owned: Owned<Item>] | null {
    let next: readonly [string, Owned<Item>] | null = null;
    for (const entry of this.#owners) {
      if (next === null || entry[1].first.finish < next[1].first.finish) next = entry;
    }
    return next;
  }
}
