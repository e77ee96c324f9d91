/**
 * A model of a Postgres server, as far as Postgres promises anything: transactions are atomic, see what was committed before each
 * statement, and wait for the locks of others; one that waits in a circle fails after a second; what was committed stays, unless a fault
 * says that it is lost. It keeps the rows of one log and of any number of read models in memory, and knows the statements of the engine
 * and of the models by their names (statements.ts).
 */
import { readModelSchema } from '../../projections/models.ts';
import type { CombinedStatement } from '../../src/database/combine.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import type { Random } from '../support/random.ts';
import { clock, wallClock } from './clock.ts';
import { handlerOf } from './statements.ts';
import { postgresError, View, type Row, type Server, type Tables } from './view.ts';

export interface Result {
  readonly rows: readonly Row[];
  readonly rowCount: number;
  readonly command: string;
}

interface Waiting {
  readonly session: Session;
  readonly resolve: () => void;
}

interface Lock {
  owner: Session;
  readonly waiting: Waiting[];
}

/** How long a session waits for a lock until Postgres looks for a deadlock, in milliseconds (its default). */
const deadlockTimeout = 1000;

export class PostgresServer implements Server {
  readonly random: Random;
  /** The tables of the log. Each read model has them, too. */
  readonly log: Tables = new Map([['heads', new Map()], ['records', new Map()], ['history', new Map()]]);
  /** By the names of their schemas. */
  readonly readModels = new Map<string, Tables>();
  /** By how much the clock of the server is ahead, in milliseconds. */
  skew = 0;
  timeline = 1n;
  starts = 1;
  /** Whether it cannot be reached. */
  away = false;
  localKeys = 1n;
  /** How many commits there were when clients began. */
  firstCommits = 0;
  refuses: (body: string) => boolean = () => false;
  readonly listeners = new Set<(channel: string, payload: string) => void>();
  readonly sessions = new Set<Session>();
  readonly #locks = new Map<string, Lock>();
  /** How to undo each commit, for those that get lost. */
  readonly #undo: { readonly rows: readonly (readonly [table: Map<string, Row>, key: string, before: Row | undefined])[]; readonly localKeys: bigint }[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  get time(): number {
    return Math.floor(wallClock() + this.skew);
  }

  /** The committed rows of a table of a read model, or of the log. */
  rowsOf(table: string, readModel = readModelSchema): ReadonlyMap<string, Row> {
    return this.readModels.get(readModel)!.get(table) ?? new Map<string, Row>();
  }

  commit(changes: ReadonlyMap<string, ReadonlyMap<string, Row | null>>, tables: Tables): void {
    const undo: (readonly [Map<string, Row>, string, Row | undefined])[] = [];
    for (const [table, rows] of changes) {
      const stored = tables.get(table) ?? new Map<string, Row>();
      tables.set(table, stored);
      for (const [key, row] of rows) {
        undo.push([stored, key, stored.get(key)]);
        if (row === null) stored.delete(key);
        else stored.set(key, row);
      }
    }
    this.#undo.push({ rows: undo, localKeys: this.localKeys });
  }

  /** How many transactions were committed. */
  get commits(): number {
    return this.#undo.length;
  }

  /** From here on, commits may get lost. */
  begin(): void {
    this.firstCommits = this.commits;
  }

  /** All connections end, and the last commits down to this number are gone. */
  loseCommits(commits: number): void {
    this.restart();
    while (this.#undo.length > commits) {
      const { rows, localKeys } = this.#undo.pop()!;
      for (const [table, key, before] of rows.toReversed()) {
        if (before === undefined) table.delete(key);
        else table.set(key, before);
      }
      this.localKeys = localKeys;
    }
  }

  /** All backends end, and the server starts anew. */
  restart(): void {
    this.starts += 1;
    for (const session of this.sessions) session.end();
  }

  /** Resolves when the session has the lock. Rejects when it waits for itself. */
  lock(name: string, session: Session): Promise<void> {
    if (!session.isAlive) return new Promise(() => undefined);
    const lock = this.#locks.get(name);
    if (lock?.owner === session) return Promise.resolve();
    if (lock === undefined) {
      this.#locks.set(name, { owner: session, waiting: [] });
      session.locks.add(name);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      session.waitsFor = name;
      const look = clock.schedule(deadlockTimeout, () => {
        if (!lock.waiting.includes(waiting) || !this.#isInCircle(session)) return;
        lock.waiting.splice(lock.waiting.indexOf(waiting), 1);
        session.waitsFor = null;
        reject(postgresError('40P01'));
      }, null);
      const waiting = {
        session,
        resolve: () => {
          look.isCleared = true;
          resolve();
        },
      };
      lock.waiting.push(waiting);
    });
  }

  /** Whether the session waits for a lock whose owner waits for this session, however indirectly. */
  #isInCircle(session: Session): boolean {
    let at: Session | undefined = session;
    for (let steps = this.sessions.size; at !== undefined && steps >= 0; steps -= 1) {
      at = at.waitsFor === null ? undefined : this.#locks.get(at.waitsFor)?.owner;
      if (at === session) return true;
    }
    return false;
  }

  unlock(name: string): void {
    this.#pass(name, this.#locks.get(name)!);
  }

  #pass(name: string, lock: Lock): void {
    const next = lock.waiting.shift();
    if (next === undefined) {
      this.#locks.delete(name);
      return;
    }
    const { session, resolve } = next;
    if (!session.isAlive) return this.#pass(name, lock);
    lock.owner = session;
    session.locks.add(name);
    session.waitsFor = null;
    resolve();
  }
}

let backends = 0;

/** A backend: it runs the statements of one connection, one after the other. */
export class Session {
  readonly id = (backends += 1);
  readonly server: PostgresServer;
  /** The schema of its read model. */
  readonly readModel: string;
  readonly locks = new Set<string>();
  /** The lock that it waits for. */
  waitsFor: string | null = null;
  isAlive = true;
  /** Called when the backend ends. */
  onEnd: () => void = () => undefined;
  #transaction: View | null = null;
  #hasFailed = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(server: PostgresServer, readModel: string) {
    this.server = server;
    this.readModel = readModel;
    server.sessions.add(this);
  }

  get isInTransaction(): boolean {
    return this.#transaction !== null;
  }

  /** Ends at once: what is not committed is rolled back, and nothing is answered. */
  end(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.server.sessions.delete(this);
    this.#unlock();
    this.onEnd();
  }

  /** Runs a statement after all earlier ones. Never settles if the backend ends before. */
  run(statement: Statement, values: readonly unknown[]): Promise<Result> {
    const running = this.#last.then(() => this.#run(statement, values));
    this.#last = running.catch(() => undefined);
    return running;
  }

  async #run(statement: Statement, values: readonly unknown[]): Promise<Result> {
    if (!this.isAlive) return new Promise(() => undefined);
    const { text } = statement;
    if (text === 'begin') return this.#begin();
    if (text === 'commit' || text === 'rollback') return this.#endTransaction(text === 'commit');
    if (this.#hasFailed) throw postgresError('25P02');
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

  async #execute(statement: Statement, values: readonly unknown[]): Promise<Result> {
    const { parts = [statement], guards = 0 } = statement as Partial<CombinedStatement>;
    let at = 0;
    const calls = parts.map((part) => {
      const handler = handlerOf(part);
      const given = values.slice(at, (at += handler.parameters));
      return { handler, given };
    });
    for (const { handler, given } of calls) for (const lock of handler.locks(given, this.readModel)) await this.server.lock(lock, this);
    // What a statement does takes time, in which others run.
    await clock.sleep(this.server.random.between(0, 0.5));
    if (!this.isAlive) return new Promise(() => undefined);
    const view = this.#transaction ?? this.#view();
    const results = calls.map(({ handler, given }, part) => {
      const rows = handler.run(view, given);
      // Postgres runs the parts that guard before those that nobody reads from.
      if (part < guards && rows.length === 0) throw postgresError('22012');
      return rows;
    });
    if (this.#transaction === null) view.commit();
    const rows = results.at(-1)!;
    return { rows, rowCount: rows.length, command: 'SELECT' };
  }

  #view(): View {
    return new View(this.server, this.server.readModels.get(this.readModel)!);
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
    for (const lock of this.locks) this.server.unlock(lock);
    this.locks.clear();
  }
}
