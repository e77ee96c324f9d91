/** The identities that rows kept through overwrites, as far as a batch has to do with them. */
import type { Link, Table } from './decision.ts';

/** A row of a segment, and the ID that it came with. */
export interface KeptId {
  readonly segment: bigint;
  /** Its place in the segment. */
  readonly index: number;
  readonly id: string;
}

export class KeptIds {
  /** Every overwrite that kept it has put an identity into another segment. */
  readonly #byId = new Map<string, KeptId[]>();
  readonly #bySegment = new Map<bigint, Map<number, KeptId>>();
  readonly #linksOfSegments = new Map<bigint, Map<bigint, Link>>();

  /** A link that keeps; again when it has changed. */
  putLink(link: Link): void {
    const links = this.#linksOfSegments.get(link.segment) ?? new Map<bigint, Link>();
    this.#linksOfSegments.set(link.segment, links.set(link.key, link));
  }

  put(kept: KeptId): void {
    const places = this.#bySegment.get(kept.segment) ?? new Map<number, KeptId>();
    if (places.has(kept.index)) return;
    this.#bySegment.set(kept.segment, places.set(kept.index, kept));
    this.#byId.set(kept.id, [...(this.#byId.get(kept.id) ?? []), kept]);
  }

  all(): readonly KeptId[] {
    return [...this.#byId.values()].flat();
  }

  links(): readonly Link[] {
    return [...this.#linksOfSegments.values()].flatMap((links) => [...links.values()]);
  }

  /** Where the row with this ID lies in the table's present generation. */
  row(table: Table, id: string): { readonly link: Link; readonly index: number } | null {
    for (const kept of this.#byId.get(id) ?? []) {
      const link = this.linkOf(table, kept);
      if (link !== null) return { link, index: kept.index - link.first };
    }
    return null;
  }

  /** The link of the table's present generation that shows this row of a segment under the ID that it kept. */
  linkOf(table: Pick<Table, 'id' | 'generation'>, { segment, index }: KeptId): Link | null {
    for (const link of this.#linksOfSegments.get(segment)?.values() ?? []) {
      if (link.tableId !== table.id || link.generation !== table.generation) continue;
      if (index >= link.first && index < link.first + link.rows) return link;
    }
    return null;
  }

  /** The first of `count` places of a segment from `first` on whose row came with an ID. */
  place(segment: bigint, first: number, count: number): number | null {
    const places = this.#bySegment.get(segment);
    if (!places) return null;
    if (count === 1) return places.has(first) ? first : null;
    let found: number | null = null;
    for (const index of places.keys()) {
      if (index >= first && index < first + count && (found === null || index < found)) found = index;
    }
    return found;
  }
}
