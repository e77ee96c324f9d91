/** The tables and rows that later events of a team can name; now and then it gives one that does not exist. */
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { Outcome, RowRange } from '../../src/language/events/outcome.ts';
import type { Random } from '../support/random.ts';

interface KnownTable {
  readonly id: string;
  readonly ranges: RowRange[];
  version: bigint;
}

export class KnownTables {
  readonly #random: Random;
  #tables: KnownTable[] = [];
  readonly #deleted: KnownTable[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** How many tables exist. */
  get count(): number {
    return this.#tables.length;
  }

  /** An existing table. */
  pick(): string {
    return this.#random.pick(this.#tables).id;
  }

  /** Mostly an existing table; now and then an unknown or a deleted one. */
  any(): string {
    const r = this.#random;
    if (r.chance(0.01)) return r.uuid();
    return r.pick(this.#deleted.length > 0 && r.chance(0.02) ? this.#deleted : this.#tables).id;
  }

  hasRows(tableId: string): boolean {
    return this.#rangesOf(tableId).length > 0;
  }

  /** A row that was added, or one that never existed. Some are picked again and again. */
  rowOf(tableId: string): RowAddress {
    const r = this.#random;
    const ranges = this.#rangesOf(tableId);
    if (ranges.length === 0 || r.chance(0.02)) return { version: BigInt(r.below(50)), ordinal: 0, index: r.below(1e6) };
    const { version, ordinal, first, count } = r.chance(0.3) ? ranges.at(-1)! : r.pick(ranges);
    return { version, ordinal, index: first + r.below(r.chance(0.4) ? Math.min(3, count) : count) };
  }

  ifMatch(tableId: string): bigint | null {
    const r = this.#random;
    if (r.chance(0.8)) return null;
    return r.chance(0.5) ? BigInt(r.below(5)) : (this.#find(tableId)?.version ?? 7n);
  }

  /** Forgets a table, unless too few would be left. Returns whether it did. */
  end(tableId: string): boolean {
    const table = this.#find(tableId);
    if (table === undefined || this.#tables.length < 3) return false;
    this.#tables = this.#tables.filter((other) => other !== table);
    this.#deleted.push(table);
    return true;
  }

  /** Notes the outcome of an event about a table. */
  learn(outcome: Outcome, tableId: string): void {
    if (outcome.status === 'refused') return;
    const { tableId: created, rows = [] } = outcome.result;
    if (created !== undefined) this.#tables.push({ id: created, ranges: [], version: 0n });
    const table = this.#find(tableId);
    if (!table) return;
    table.ranges.push(...rows.filter((range) => range.count > 0));
    if (outcome.etag !== undefined) table.version = outcome.etag;
  }

  #find(tableId: string): KnownTable | undefined {
    return this.#tables.find(({ id }) => id === tableId);
  }

  #rangesOf(tableId: string): readonly RowRange[] {
    return [...this.#tables, ...this.#deleted].find(({ id }) => id === tableId)?.ranges ?? [];
  }
}
