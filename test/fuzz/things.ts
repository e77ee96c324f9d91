/** What the fuzzer knows about the tables, stashes, uploads and jobs of a team, so that its requests can name them. */
import type { Random } from '../support/random.ts';

export interface KnownTable {
  readonly id: string;
  readonly rowIds: string[];
  readonly etags: string[];
  readonly continuations: string[];
}

export interface KnownUpload {
  readonly id: string;
  readonly app: string;
  /** Path and query of its signed URL. */
  readonly location: string;
  readonly contentType: string;
}

/** How many of a kind are remembered. */
const remembered = 30;

/** Adds to a list that forgets its oldest element. */
export function remember<T>(list: T[], thing: T, most = remembered): void {
  list.push(thing);
  if (list.length > most) list.shift();
}

export class Things {
  readonly tables: KnownTable[] = [];
  readonly deletedTables: KnownTable[] = [];
  readonly stashes: string[] = [];
  readonly uploads: KnownUpload[] = [];
  /** Paths of public files. */
  readonly files: string[] = [];
  readonly jobs: string[] = [];
  /** Teams, and tokens of teams and operators, that an operator made: other teams are none of its business here. */
  readonly madeTeams: string[] = [];
  readonly madeTokens: string[] = [];

  addTable(id: string, rowIds: readonly string[]): KnownTable {
    const table = { id, rowIds: rowIds.slice(0, remembered), etags: [], continuations: [] };
    this.tables.push(table);
    return table;
  }

  tableOf(id: string): KnownTable | undefined {
    return this.tables.find((table) => table.id === id);
  }

  /** Later requests may still name it, as one that was deleted. */
  deleteTable(id: string): void {
    const at = this.tables.findIndex((table) => table.id === id);
    if (at !== -1) remember(this.deletedTables, this.tables.splice(at, 1)[0]!);
  }
}

/** The tokens of a team. */
interface Tokens {
  readonly full: string;
  readonly readOnly: string;
  /** For the app `shop` only. */
  readonly ofApp: string;
  /** Of an operator: the same for all teams. */
  readonly operator: string;
  /** Expired. */
  readonly dead: string;
}

export interface FuzzTeam {
  /** A secret text: only this team may receive it. */
  readonly marker: string;
  readonly tokens: Tokens;
  /** What the team had before the first hostile request. */
  readonly things: Things;
}

/** An element of a list, or undefined if it is empty. */
export function pickFrom<T>(random: Random, list: readonly T[]): T | undefined {
  return list.length === 0 ? undefined : random.pick(list);
}
