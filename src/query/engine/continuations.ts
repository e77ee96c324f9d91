/** The continuations that clients hold: queries at a version, for an hour. Their number is bounded, for a team and for all; the one that was not used for longest goes first. */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { RowsQuery } from '../language/rows-query.ts';
import type { QuerySource } from './compile.ts';
import type { Asker, HeldTable } from './copies.ts';

/** Where the pages of a query go on. */
export interface Continuation {
  readonly asker: Asker;
  readonly held: HeldTable;
  readonly source: QuerySource;
  readonly query: RowsQuery;
  readonly offset: number;
}

/** How long a continuation can be asked for, in milliseconds. */
const lifeMs = 3_600_000;

/** How many there are, of a team and of all, and how many bytes the queries of a team's have at most. */
const ofTeamMax = 1000;
const allMax = 10_000;
const bytesOfTeamMax = 2 * 1024 * 1024;

type OfTeam = LRUCache<string, Continuation>;

export class Continuations {
  readonly #teams = new Map<string, OfTeam>();

  /** Keeps a continuation, and what it holds, until its time is over. Returns its ID. */
  keep(continuation: Continuation): string {
    const { teamId } = continuation.asker;
    let ofTeam = this.#teams.get(teamId);
    if (ofTeam === undefined) {
      ofTeam = new LRUCache({
        max: ofTeamMax, maxSize: bytesOfTeamMax, sizeCalculation: ({ query }) => JSON.stringify(query).length,
        ttl: lifeMs, dispose: ({ held }) => held.release(),
      });
      this.#teams.set(teamId, ofTeam);
    }
    const id = randomUUID();
    ofTeam.set(id, continuation);
    this.#removeSurplus();
    return id;
  }

  /** A page may be asked for again, so a continuation stays. */
  get(teamId: string, id: string): Continuation | undefined {
    return this.#teams.get(teamId)?.get(id);
  }

  /** Forgets those whose time is over, and what they hold. */
  removeStale(): void {
    for (const [teamId, ofTeam] of this.#teams) {
      ofTeam.purgeStale();
      if (ofTeam.size === 0) this.#teams.delete(teamId);
    }
  }

  #removeSurplus(): void {
    const teams = [...this.#teams.values()];
    if (teams.reduce((sum, { size }) => sum + size, 0) <= allMax) return;
    const largest = teams.reduce((most, ofTeam) => (ofTeam.size > most.size ? ofTeam : most));
    largest.pop();
  }
}
