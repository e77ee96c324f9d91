/**
 * The continuations that clients hold: queries at a version, for an hour. Their number and their bytes are bounded, for
 * a team and for all: a team that has too many loses the one that was not used for longest, and when all together are
 * too many, the team that has most does.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Asker, HeldTable } from './copies.ts';

/**
 * Where the pages of a query go on. It refers to nothing but the copy, which others share: what it takes is the text of
 * the query.
 */
export interface Continuation {
  readonly asker: Asker;
  readonly held: Pick<HeldTable, 'copy' | 'version' | 'release'>;
  /** How many columns the table had. */
  readonly columns: number;
  /** As it was sent, in JSON. Parsed it would take many times as much. */
  readonly query: string;
  /** What comes before the names of members in messages, such as `query.`. */
  readonly prefix: string;
  readonly offset: number;
}

/** How long a continuation can be asked for, in milliseconds. */
const lifeMs = 3_600_000;

/** How many there are, of a team and of all, and how many bytes they have. */
const ofTeamMax = 1000;
const allMax = 10_000;
const bytesOfTeamMax = 4 * 1024 * 1024;
const bytesOfAllMax = 24 * 1024 * 1024;

/** What one takes besides the text of its query. */
const bytesBeside = 1024;

/** A text that has other letters than Latin ones takes so many bytes for each. */
const bytesOfUnit = 2;

type OfTeam = LRUCache<string, Continuation>;

export class Continuations {
  readonly #teams = new Map<string, OfTeam>();

  /** How many bytes all of them take, at most. */
  get bytes(): number {
    return this.#teams.values().reduce((sum, ofTeam) => sum + ofTeam.calculatedSize, 0);
  }

  /** Keeps a continuation, and what it holds, until its time is over. Returns its ID. */
  keep(continuation: Continuation): string {
    const { teamId } = continuation.asker;
    let ofTeam = this.#teams.get(teamId);
    if (ofTeam === undefined) {
      ofTeam = new LRUCache({
        // Not `max`, for which it would take the memory of so many at once.
        maxSize: bytesOfTeamMax,
        sizeCalculation: ({ query }) => bytesBeside + query.length * bytesOfUnit,
        ttl: lifeMs,
        dispose: ({ held }) => held.release(),
      });
      this.#teams.set(teamId, ofTeam);
    }
    const id = randomUUID();
    ofTeam.set(id, continuation);
    if (ofTeam.size > ofTeamMax) ofTeam.pop();
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
    this.#removeWhile(teams, allMax, ({ size }) => size);
    this.#removeWhile(teams, bytesOfAllMax, ({ calculatedSize }) => calculatedSize);
  }

  /** Removes those of the teams that have most, until all together have at most so much. */
  #removeWhile(teams: readonly OfTeam[], max: number, measure: (ofTeam: OfTeam) => number): void {
    let sum = teams.reduce((before, ofTeam) => before + measure(ofTeam), 0);
    while (sum > max) {
      const largest = teams.reduce((most, ofTeam) => (measure(ofTeam) > measure(most) ? ofTeam : most));
      const before = measure(largest);
      largest.pop();
      sum += measure(largest) - before;
    }
  }
}
