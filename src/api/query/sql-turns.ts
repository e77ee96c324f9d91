/**
 * Whose SQL is at work in the process for SQL. When that process dies, each team whose SQL was at work is a suspect:
 * the SQL of a suspect runs alone, until it has been answered, or the process has died again. Then the team is
 * convicted, and must wait with SQL.
 */
import { LRUCache } from 'lru-cache';
import type { ProcessExit } from './engine-process.ts';

/** How long a team waits whose SQL ended the process, in milliseconds. */
const convictedMs = 600_000;

/**
 * What the death of the process means for a query that was at work in it. `convicted`: the query ended it;
 * `team_convicted`: that, or another query of its team, did. `suspect` and `innocent`: the query is to be asked again.
 */
type Verdict = 'convicted' | 'team_convicted' | 'suspect' | 'innocent';

/** One query, from when it was asked until it is answered. */
export interface SqlTurn {
  readonly teamId: string;
  /** The process that was asked; null: none. */
  processId: string | null;
  /** Null unless the process ended that was asked. */
  verdict: Verdict | null;
}

interface Waiter {
  readonly turn: SqlTurn;
  readonly enter: () => void;
}

export class SqlTurns {
  readonly #atWork = new Set<SqlTurn>();
  #waiting: Waiter[] = [];
  /** Queries that were at work when a process died, and have not run alone since. */
  readonly #suspects = new Set<SqlTurn>();
  readonly #convicted = new LRUCache<string, true>({ max: 10_000, ttl: convictedMs });

  /** How long a team must wait with SQL, in milliseconds. */
  waitMs(teamId: string): number {
    return this.#convicted.getRemainingTTL(teamId);
  }

  isSuspect(turn: SqlTurn): boolean {
    return this.#suspects.has(turn);
  }

  /**
   * Resolves when the query may run. Queries begin in the order in which they came. Rejects with the reason of the
   * signal.
   */
  async enter(turn: SqlTurn, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal.reason as Error);
        this.#admit();
      };
      const waiter: Waiter = {
        turn,
        enter: () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.push(waiter);
      this.#admit();
    });
  }

  /** A query is not at work any more. It may enter again. */
  leave(turn: SqlTurn): void {
    if (this.#atWork.delete(turn)) this.#admit();
  }

  /** A query is over: it has been answered, or was given up. */
  close(turn: SqlTurn): void {
    this.#suspects.delete(turn);
    this.leave(turn);
    this.#admit();
  }

  /** A team ended the process. */
  convict(teamId: string): void {
    this.#convicted.set(teamId, true);
  }

  /**
   * A process has ended: gives the verdict on each query that was at work in it. `stuck`: the teams that it said to
   * have ended it.
   */
  ended({ id, isCrash }: ProcessExit, stuck: ReadonlySet<string>): void {
    const turns = [...this.#atWork].filter(({ processId }) => processId === id);
    const teams = new Set(turns.map(({ teamId }) => teamId));
    const culprits = stuck.size === 0 && isCrash && teams.size === 1 ? teams : stuck;
    for (const teamId of culprits) this.convict(teamId);
    for (const turn of turns) {
      if (culprits.has(turn.teamId))
        turn.verdict = turns.every((other) => other === turn || other.teamId !== turn.teamId)
          ? 'convicted'
          : 'team_convicted';
      else turn.verdict = isCrash && culprits.size === 0 ? 'suspect' : 'innocent';
      if (turn.verdict === 'suspect') this.#suspects.add(turn);
    }
  }

  #admit(): void {
    for (let [next] = this.#waiting; next !== undefined && this.#mayEnter(next.turn.teamId); [next] = this.#waiting) {
      this.#waiting.shift();
      next.turn.processId = null;
      next.turn.verdict = null;
      this.#atWork.add(next.turn);
      next.enter();
    }
  }

  #mayEnter(teamId: string): boolean {
    if (this.#atWork.size === 0) return true;
    const suspects = new Set([...this.#suspects].map((turn) => turn.teamId));
    return !suspects.has(teamId) && ![...this.#atWork].some((turn) => suspects.has(turn.teamId));
  }
}
