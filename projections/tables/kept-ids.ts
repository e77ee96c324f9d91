/** The identities that rows kept through overwrites, as far as a batch has to do with them. */
import type { Link, Table } from './table.ts';

/** A row of a segment, and the ID that it came with. */
export interface KeptId {
  readonly segment: bigint;
  /** Its place in the segment. */
  readonly index: number;
  readonly id: string;
}

export class KeptIds {
  /** By identity, and by the segments whose rows came with it. */
  readonly #byId = new Map<string, Map<string, KeptId>>();
  readonly #linksOfSegments = new Map<bigint, Map<bigint, Link>>();

  /** A link that keeps; again when it has changed. */
  putLink(link: Link): void {
    const links = this.#linksOfSegments.get(link.segment) ?? new Map<bigint, Link>();
    this.#linksOfSegments.set(link.segment, links.set(link.key, link));
  }

  put(kept: KeptId): void {
    const places = this.#byId.get(kept.id) ?? new Map<string, KeptId>();
    this.#byId.set(kept.id, places.set(`${kept.segment} ${kept.index}`, kept));
  }

  /** Where the row with this ID lies in the table's present generation. */
  row(table: Table, id: string): { readonly link: Link; readonly index: number } | null {
    for (const kept of this.#byId.get(id)?.values() ?? []) {
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
}
