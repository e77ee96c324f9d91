/** The rows of the model of Postgres, as a transaction sees them. */
import type { Random } from '../support/random.ts';

/** A row by property name. */
export type TableRow = Readonly<Record<string, unknown>>;

export type Tables = Map<string, Map<string, TableRow>>;

/** An error in the form of Postgres's reports. */
export function postgresError(code: string, constraint?: string): Error {
  return Object.assign(new Error(`Postgres reports ${code}`), { code, constraint });
}

/** The state of a server that statements see, besides the rows. */
export interface Server {
  readonly random: Random;
  /** The time of its clock, in milliseconds since 1970. */
  readonly time: number;
  readonly timeline: bigint;
  /** How often it was started. */
  readonly starts: number;
  /** The next value of the sequence of local keys. */
  localKeys: bigint;
  /** Whether the read model refuses rows with this body. */
  refuses: (body: string, readModel: string) => boolean;
  readonly listeners: Iterable<(channel: string, payload: string) => void>;
  readonly sessions: Iterable<{ readonly id: number; end(): void }>;
  /** The tables of the log. Each read model has them, too. */
  readonly log: Tables;
  /** By the names of their schemas. */
  readonly readModels: Map<string, Tables>;
  /** Makes changes at once: first of rows, then of the set of read models (created, dropped, renamed). */
  commit(changes: readonly Changes[], schemas: readonly SchemaChange[]): void;
}

/** The changed rows of a table; null: a row was deleted. */
export interface Changes {
  readonly stored: Map<string, TableRow>;
  readonly rows: ReadonlyMap<string, TableRow | null>;
}

/** A change of the set of read models. */
export type SchemaChange = (readModels: Map<string, Tables>) => void;

const oids = new WeakMap<Tables, bigint>();
let lastOid = 0;

/** The committed rows of the log and of one read model, as changed by one transaction. */
export class View {
  readonly server: Server;
  /** The schema of the read model. */
  readonly name: string;
  /** The read model, as it was when it was first used. From then on the transaction has a lock on it. */
  #tables: Tables | null = null;
  readonly #changes = new Map<string, Map<string, TableRow | null>>();
  readonly #schemas: SchemaChange[] = [];
  readonly #others = new Map<string, View>();
  readonly #notifications: (readonly [channel: string, payload: string])[] = [];
  /** The settings of the transaction. */
  readonly settings: Map<string, string>;

  constructor(server: Server, name: string, settings: Map<string, string>) {
    this.server = server;
    this.name = name;
    this.settings = settings;
  }

  /** The OID of the progress of this read model. */
  get oid(): bigint {
    const tables = this.#readModel();
    const known = oids.get(tables) ?? BigInt((lastOid += 1));
    oids.set(tables, known);
    return known;
  }

  /** The same transaction's view of another read model. */
  in(schema: string): View {
    if (schema === this.name) return this;
    const other = this.#others.get(schema) ?? new View(this.server, schema, this.settings);
    this.#others.set(schema, other);
    return other;
  }

  get(table: string, key: string): TableRow | null {
    const changed = this.#changes.get(table)?.get(key);
    return changed === undefined ? (this.#stored(table).get(key) ?? null) : changed;
  }

  /** `null`: deletes the row. */
  put(table: string, key: string, row: TableRow | null): void {
    const changes = this.#changes.get(table) ?? new Map<string, TableRow | null>();
    this.#changes.set(table, changes.set(key, row));
  }

  all(table: string): TableRow[] {
    const changes = this.#changes.get(table);
    const committed = this.#stored(table);
    if (changes === undefined) return [...committed.values()];
    return [...new Map([...committed, ...changes]).values()].filter((row) => row !== null);
  }

  /** Takes effect when the transaction commits. */
  changeSchemas(change: SchemaChange): void {
    this.#schemas.push(change);
  }

  /** Listeners get it when the transaction commits. */
  notify(channel: string, payload: string): void {
    this.#notifications.push([channel, payload]);
  }

  commit(): void {
    const views = [this, ...this.#others.values()];
    const changes = views.flatMap((view) =>
      [...view.#changes].map(([table, rows]) => ({ stored: view.#stored(table), rows })),
    );
    if (changes.length > 0 || this.#schemas.length > 0) this.server.commit(changes, this.#schemas);
    for (const notification of this.#notifications) for (const hear of this.server.listeners) hear(...notification);
  }

  #stored(table: string): Map<string, TableRow> {
    const tables = this.server.log.has(table) ? this.server.log : this.#readModel();
    const stored = tables.get(table) ?? new Map<string, TableRow>();
    tables.set(table, stored);
    return stored;
  }

  #readModel(): Tables {
    this.#tables ??= this.server.readModels.get(this.name) ?? null;
    if (this.#tables === null) throw postgresError('42P01');
    return this.#tables;
  }
}
