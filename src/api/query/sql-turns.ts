/**
 * Decides which SQL may run in the process for SQL. When that process dies, every query that was running in it becomes
 * a suspect. A suspect runs alone. If it is answered, it is no longer one. If the process dies again, its team is
 * convicted and must wait before it sends more SQL.
 */
import { LRUCache } from 'lru-cache';
import type { ProcessExit } from './engine-process.ts';

/** How long a convicted team must wait, in milliseconds. */
const convictedMs = 600_000;

/**
 * The verdict on a query that was running when the process died. `convicted`: the query ended the process.
 * `team_convicted`: it or another query of its team did. `suspect` and `innocent`: the query must be tried again.
 */
type Verdict = 'convicted' | 'team_convicted' | 'suspect' | 'innocent';

/** A query, from its request to its answer. */
export interface SqlTurn {
  readonly teamId: string;
  /** The ID of the process that runs the query; null: none. */
  processId: string | null;
  /** Null unless that process has ended. */
  verdict: Verdict | null;
}

interface Waiter {
  readonly turn: SqlTurn;
  readonly enter: () => void;
}

export class SqlTurns {
  readonly #atWork = new Set<SqlTurn>();
  #waiting: Waiter[] = [];
  /** Queries that were running when a process died, and have not run alone since. */
  readonly #suspects = new Set<SqlTurn>();
  readonly #convicted = new LRUCache<string, true>({ max: 10_000, ttl: convictedMs });

  /** How long a team must wait before it sends more SQL, in milliseconds; 0: not at all. */
  waitMs(teamId: string): number {
    return this.#convicted.getRemainingTTL(teamId);
  }

  isSuspect(turn: SqlTurn): boolean {
    return this.#suspects.has(turn);
  }

  /**
   * Resolves when the query may run. Queries begin in the order of their calls. Rejects with the reason of the signal.
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

  /** The query has stopped running. It may enter again. */
  leave(turn: SqlTurn): void {
    if (this.#atWork.delete(turn)) this.#admit();
  }

  /** The query is finished: it was answered or given up. */
  close(turn: SqlTurn): void {
    this.#suspects.delete(turn);
    this.leave(turn);
    this.#admit();
  }

  /** Records that SQL of a team ended the process. */
  convict(teamId: string): void {
    this.#convicted.set(teamId, true);
  }

  /**
   * Gives the verdict on each query that was running in a process that has ended. `stuck` are the teams that the
   * process reported as the cause.
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
