/** The rows of the model of Postgres, as a transaction sees them. */
import type { Random } from '../support/random.ts';

/** A row by property name. */
export type Row = Readonly<Record<string, unknown>>;

export type Tables = Map<string, Map<string, Row>>;

/** An error as Postgres reports it. */
export function postgresError(code: string, constraint?: string): Error {
  return Object.assign(new Error(`Postgres reports ${code}`), { code, constraint });
}

/** What statements see of a server, besides the rows. */
export interface Server {
  readonly random: Random;
  /** The time of its clock, in milliseconds since 1970. */
  readonly time: number;
  readonly timeline: bigint;
  /** How often it was started. */
  readonly starts: number;
  /** The next value of the sequence of local keys. */
  localKeys: bigint;
  /** Whether rows with this body are refused. */
  refuses: (body: string) => boolean;
  readonly listeners: Iterable<(channel: string, payload: string) => void>;
  readonly sessions: Iterable<{ readonly id: number; end(): void }>;
  commit(changes: ReadonlyMap<string, ReadonlyMap<string, Row | null>>, tables: Tables): void;
}

const oids = new WeakMap<Tables, bigint>();
let lastOid = 0;

/** The committed rows of the log and of one read model, as changed by one transaction. */
export class View {
  readonly server: Server;
  readonly #tables: Tables;
  readonly #changes = new Map<string, Map<string, Row | null>>();
  readonly #notifications: (readonly [channel: string, payload: string])[] = [];

  /** `tables`: rows by their primary keys, by table. */
  constructor(server: Server, tables: Tables) {
    this.server = server;
    this.#tables = tables;
  }

  /** The OID of the progress of this read model. */
  get oid(): bigint {
    const known = oids.get(this.#tables) ?? BigInt((lastOid += 1));
    oids.set(this.#tables, known);
    return known;
  }

  get(table: string, key: string): Row | null {
    const changed = this.#changes.get(table)?.get(key);
    return changed === undefined ? (this.#tables.get(table)?.get(key) ?? null) : changed;
  }

  /** `null`: deletes the row. */
  put(table: string, key: string, row: Row | null): void {
    const changes = this.#changes.get(table) ?? new Map<string, Row | null>();
    this.#changes.set(table, changes.set(key, row));
  }

  all(table: string): Row[] {
    const changes = this.#changes.get(table);
    const committed = this.#tables.get(table) ?? new Map<string, Row>();
    if (changes === undefined) return [...committed.values()];
    return [...new Map([...committed, ...changes]).values()].filter((row) => row !== null);
  }

  /** Listeners hear it when this is committed. */
  notify(channel: string, payload: string): void {
    this.#notifications.push([channel, payload]);
  }

  commit(): void {
    if (this.#changes.size > 0) this.server.commit(this.#changes, this.#tables);
    for (const notification of this.#notifications) for (const hear of this.server.listeners) hear(...notification);
  }
}
