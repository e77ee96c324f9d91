/** A queue with fair shares: an owner with many items does not delay the items of others. */

interface Waiting<Item> {
  readonly item: Item;
  /** The owner's share, including this item, on the clock of the queue. */
  readonly finish: number;
  /** The next item of the same owner. */
  next: Waiting<Item> | null;
}

/** The waiting items of an owner. A linked list, because removing the first item of a long array moves all others. */
interface Owned<Item> {
  first: Waiting<Item>;
  last: Waiting<Item>;
}

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, 1996). The items of one owner keep their order. Among owners, the one
 * with the smallest share so far comes next. A new owner begins with the share that the others have now, so that it
 * neither waits for them nor overtakes them for long.
 */
export class FairQueue<Item> {
  readonly #ownerOf: (item: Item) => string;
  readonly #costOf: (item: Item) => number;
  readonly #owners = new Map<string, Owned<Item>>();
  /** The share at which the last served item began. */
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

  /** Removes and returns all items. The items of one owner keep their order. */
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
