/**
 * What one batch leaves behind for the next of its partition: the tables it dealt with, with their teams, schemas and
 * tails. It is right only as long as nobody else has moved the progress, which the next batch finds out when it is stored:
 * then it is forgotten and the batch is decided anew.
 */
import type { TableSchema } from '../src/schema/table-schema.ts';
import type { BatchState } from './batch-state.ts';
import type { Link, Table, Team } from './decision.ts';

/** How many tables of a partition are remembered; past it all are forgotten, because that is simple and rare. */
const tablesMax = 1000;

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

  /** `before`: what the batch itself remembered, which is handed on. */
  constructor(next: bigint, before: BatchMemory | null) {
    this.next = next;
    this.#tables = before && before.#tables.size < tablesMax ? before.#tables : new Map();
    this.#teams = before && before.#tables.size < tablesMax ? before.#teams : new Map();
  }

  put(remembered: Remembered): void {
    this.#tables.set(remembered.table.id, remembered);
  }

  putTeam(team: Team): void {
    this.#teams.set(team.id, team);
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
