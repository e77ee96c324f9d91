/**
 * What one batch leaves behind for the next of its partition: the tables it dealt with, with their teams, schemas, tails
 * and the links of rows that were asked for. It is right only as long as nobody else has moved the progress, which the next batch finds out when it is stored:
 * then it is forgotten and the batch is decided anew.
 */
import type { RowAddress } from '../src/events/event.ts';
import type { TableSchema } from '../src/schema/table-schema.ts';
import type { BatchState } from './batch-state.ts';
import type { Link, Table, Team } from './decision.ts';

/** How much of a partition is remembered; past it all is forgotten, because that is simple and rare. */
const tablesMax = 1000;
const linksMax = 10_000;

interface Remembered {
  readonly table: Table;
  readonly schema: TableSchema;
  /** Undefined when no event has asked for it yet. */
  readonly tail: Link | null | undefined;
}

export class BatchMemory {
  /** The progress at which this was right. */
  readonly next: bigint;
  readonly #tables: Map<string, Remembered>;
  readonly #teams: Map<string, Team>;
  readonly #links: Map<string, Link>;

  /** `before`: what the batch itself remembered, which is handed on. */
  constructor(next: bigint, before: BatchMemory | null) {
    this.next = next;
    const kept = before?.hasRoom() ? before : null;
    this.#tables = kept ? kept.#tables : new Map();
    this.#teams = kept ? kept.#teams : new Map();
    this.#links = kept ? kept.#links : new Map();
  }

  /** Whether the next batch may add to this. */
  hasRoom(): boolean {
    return this.#tables.size < tablesMax && this.#teams.size < tablesMax && this.#links.size < linksMax;
  }

  put(remembered: Remembered): void {
    this.#tables.set(remembered.table.id, remembered);
  }

  putTeam(team: Team): void {
    this.#teams.set(team.id, team);
  }

  putLink(link: Link): void {
    this.#links.set(linkName(link.tableId, link.version, link.ordinal), link);
  }

  /** The link that has this row, if both are remembered. */
  linkOf(tableId: string, { version, ordinal, index }: RowAddress): Link | null {
    const link = this.#links.get(linkName(tableId, version, ordinal));
    return link && index < link.rows ? link : null;
  }

  /** Puts a table into the state of a batch, with all that decisions on it need. False if not all is remembered. */
  recall(tableId: string, state: BatchState, needsTail: boolean): boolean {
    const remembered = this.#tables.get(tableId);
    const team = remembered && this.#teams.get(remembered.table.teamId);
    if (!remembered || !team || (needsTail && remembered.tail === undefined)) return false;
    const { table, schema, tail } = remembered;
    state.putTeam(team);
    state.putTable(table);
    state.putSchema({ tableId, version: table.schemaVersion, schema });
    if (tail) state.putLink(tail);
    return true;
  }
}

function linkName(tableId: string, version: bigint, ordinal: number): string {
  return `${tableId} ${version} ${ordinal}`;
}
