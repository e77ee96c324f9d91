/**
 * A model of a Postgres server that keeps Postgres's promises and no others. Transactions are atomic, see everything
 * that was committed before each statement, and wait for the locks of others. One that waits in a circle fails after a
 * second. Committed data stays, unless a fault loses it. The model keeps the rows of one log and of any number of read
 * models in memory, and knows the effect of each statement of the service (statements.ts).
 */
import { readModelSchema } from '../../projections/models.ts';
import type { CombinedStatement } from '../../src/storage/database/combine.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import type { Random } from '../support/random.ts';
import { clock, wallClock } from './clock.ts';
import { readModelLock } from './handler.ts';
import { findStatement } from './statements.ts';
import { Locks, type Holder, type Wanted } from './locks.ts';
import {
  postgresError,
  View,
  type Changes,
  type TableRow,
  type SchemaChange,
  type Server,
  type Tables,
} from './view.ts';

export interface Result {
  readonly rows: readonly TableRow[];
  readonly rowCount: number;
  readonly command: string;
}

export class PostgresServer implements Server {
  readonly random: Random;
  /** The tables of the log. Each read model has them, too. */
  readonly log: Tables = new Map([
    ['heads', new Map()],
    ['records', new Map()],
    ['history', new Map()],
    ['place', new Map()],
    ['triggers of records', new Map()],
  ]);
  /** By the names of their schemas. */
  readonly readModels = new Map<string, Tables>();
  /** How far the clock of the server is ahead, in milliseconds. */
  skew = 0;
  timeline = 1n;
  starts = 1;
  /** Whether it cannot be reached. */
  away = false;
  localKeys = 1n;
  /** How many commits there were when clients began. */
  firstCommits = 0;
  refuses: (body: string, readModel: string) => boolean = () => false;
  readonly listeners = new Set<(channel: string, payload: string) => void>();
  readonly sessions = new Set<Session>();
  readonly locks = new Locks();
  /** How often read models were created, dropped or renamed; and a function that is called each time. */
  schemaChanges = 0;
  onSchemasChanged: () => void = () => undefined;
  /** How to undo each commit, if it is lost. */
  readonly #undo: {
    readonly rows: readonly (readonly [table: Map<string, TableRow>, key: string, before: TableRow | undefined])[];
    readonly readModels: ReadonlyMap<string, Tables> | null;
    readonly localKeys: bigint;
  }[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  get time(): number {
    return Math.floor(wallClock() + this.skew);
  }

  /** The committed rows of a table of a read model, or of the log. */
  rowsOf(table: string, readModel = readModelSchema): ReadonlyMap<string, TableRow> {
    return this.log.get(table) ?? this.readModels.get(readModel)?.get(table) ?? new Map<string, TableRow>();
  }

  commit(changes: readonly Changes[], schemas: readonly SchemaChange[]): void {
    const undo: (readonly [Map<string, TableRow>, string, TableRow | undefined])[] = [];
    for (const { stored, rows } of changes) {
      for (const [key, row] of rows) {
        undo.push([stored, key, stored.get(key)]);
        if (row === null) stored.delete(key);
        else stored.set(key, row);
      }
    }
    this.#undo.push({
      rows: undo,
      readModels: schemas.length === 0 ? null : new Map(this.readModels),
      localKeys: this.localKeys,
    });
    for (const change of schemas) change(this.readModels);
    if (schemas.length === 0) return;
    this.schemaChanges += 1;
    this.onSchemasChanged();
  }

  /** How many transactions were committed. */
  get commits(): number {
    return this.#undo.length;
  }

  /** From here on, commits may get lost. */
  begin(): void {
    this.firstCommits = this.commits;
  }

  /** Ends all connections, and undoes the last commits down to this number. */
  loseCommits(commits: number): void {
    this.restart();
    while (this.#undo.length > commits) {
      const { rows, readModels, localKeys } = this.#undo.pop()!;
      if (readModels !== null) {
        this.readModels.clear();
        for (const [name, tables] of readModels) this.readModels.set(name, tables);
      }
      for (const [table, key, before] of rows.toReversed()) {
        if (before === undefined) table.delete(key);
        else table.set(key, before);
      }
      this.localKeys = localKeys;
    }
  }

  /** Ends all backends, and starts the server again. */
  restart(): void {
    this.starts += 1;
    for (const session of this.sessions) session.end();
  }
}

let backends = 0;

/** Texts of several statements. */
function isScript(text: string): boolean {
  return /^(begin|set local [^;]*);/.test(text);
}

/** Locks are exclusive unless their names say otherwise. */
function wanted(lock: string): Wanted {
  const name = lock.replace(/^shared /, '');
  return { name, isShared: name !== lock };
}

/** A backend. It runs the statements of one connection, one after the other. */
export class Session implements Holder {
  readonly id = (backends += 1);
  readonly server: PostgresServer;
  /** The schema of its read model. */
  readonly readModel: string;
  readonly locks = new Set<string>();
  readonly sessionLocks = new Set<string>();
  waitsFor: string | null = null;
  isAlive = true;
  /** Called when the backend ends. */
  onEnd: () => void = () => undefined;
  #transaction: View | null = null;
  #hasFailed = false;
  /** How many statements it has run in transactions. */
  #used = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(server: PostgresServer, readModel: string) {
    this.server = server;
    this.readModel = readModel;
    server.sessions.add(this);
  }

  get lockTimeout(): number {
    return Number(this.#transaction?.settings.get('lock_timeout') ?? 0);
  }

  get isInTransaction(): boolean {
    return this.#transaction !== null;
  }

  /** Ends at once: uncommitted changes are rolled back, and nothing is answered. */
  end(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.server.sessions.delete(this);
    this.server.locks.end(this);
    this.onEnd();
  }

  /** Runs a statement after all earlier ones. Never settles if the backend ends first. */
  run(statement: Statement, values: readonly unknown[]): Promise<Result> {
    const running = this.#last.then(() => this.#run(statement, values));
    this.#last = running.catch(() => undefined);
    return running;
  }

  async #run(statement: Statement, values: readonly unknown[]): Promise<Result> {
    if (!this.isAlive) return new Promise(() => undefined);
    const { text } = statement;
    if (isScript(text)) return this.#runAll(text);
    if (text === 'begin') return this.#begin();
    if (text === 'commit' || text === 'rollback') return this.#endTransaction(text === 'commit');
    if (this.#hasFailed) throw postgresError('25P02');
    this.#used += 1;
    try {
      const result = await this.#execute(statement, values);
      if (this.#transaction === null) this.#unlock();
      return result;
    } catch (error) {
      if (this.#transaction === null) this.#unlock();
      else this.#hasFailed = true;
      throw error;
    }
  }

  /** Runs statements that were sent as one text. Returns the result of the last one. */
  async #runAll(texts: string): Promise<Result> {
    let last: Result | null = null;
    for (const text of texts.split(';')) last = await this.#run({ name: '', text: text.trim() }, []);
    return last!;
  }

  async #execute(statement: Statement, values: readonly unknown[]): Promise<Result> {
    const { parts = [statement], guards = 0 } = statement as Partial<CombinedStatement>;
    let at = 0;
    const calls = parts.map((part) => {
      const found = findStatement(part);
      return { ...found, given: values.slice(at, (at += found.parameters)) };
    });
    if (calls.some(({ handler }) => handler.usesReadModel))
      await this.server.locks.take({ name: readModelLock(this.readModel), isShared: true }, this);
    for (const { handler, given, texts } of calls)
      for (const lock of handler.locks?.(given, texts, this.readModel) ?? [])
        await this.server.locks.take(wanted(lock), this);
    // A statement takes time, in which others run.
    await clock.sleep(this.server.random.between(0, 0.5));
    if (!this.isAlive) return new Promise(() => undefined);
    const view = this.#transaction ?? this.#view();
    const results = calls.map(({ handler, given, texts }, part) => {
      const rows = handler.inSession?.(this, given) ?? handler.run(view, given, texts);
      // Postgres runs the guards before the parts from which nothing reads.
      if (part < guards && rows.length === 0) throw postgresError('22012');
      return rows;
    });
    if (this.#transaction === null) view.commit();
    else this.#endWhenIdle(view);
    const rows = results.at(-1)!;
    return { rows, rowCount: rows.length, command: 'SELECT' };
  }

  #view(): View {
    return new View(this.server, this.readModel, new Map());
  }

  /** Postgres ends a session that is idle in a transaction for longer than the session allows. */
  #endWhenIdle(view: View): void {
    this.#used += 1;
    const limit = Number(view.settings.get('idle_in_transaction_session_timeout') ?? 0);
    const used = this.#used;
    if (limit > 0)
      clock.schedule(limit, () => (this.#transaction === view && this.#used === used ? this.end() : undefined), null);
  }

  #begin(): Result {
    this.#transaction = this.#view();
    this.#hasFailed = false;
    return { rows: [], rowCount: 0, command: 'BEGIN' };
  }

  #endTransaction(commits: boolean): Result {
    const isCommitted = commits && !this.#hasFailed;
    if (isCommitted) this.#transaction?.commit();
    this.#transaction = null;
    this.#hasFailed = false;
    this.#unlock();
    return { rows: [], rowCount: 0, command: isCommitted ? 'COMMIT' : 'ROLLBACK' };
  }

  #unlock(): void {
    this.server.locks.release(this.locks, this);
  }
}
