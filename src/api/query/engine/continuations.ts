/**
 * The continuations of clients: queries at a version, kept for an hour. Their number and bytes are limited, for each
 * team and for all teams. A team with too many loses its least recently used one. If all teams together have too many,
 * the team with the most loses one.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Asker, HeldTable } from './copies.ts';

/**
 * The position at which the pages of a query continue. It refers only to the copy, which others share, so its memory is
 * little more than the text of the query.
 */
export interface Continuation {
  readonly asker: Asker;
  readonly held: Pick<HeldTable, 'copy' | 'version' | 'release'>;
  /** How many columns the table had. */
  readonly columns: number;
  /** The query as JSON. Parsed, it would take many times the memory. */
  readonly query: string;
  /** The prefix of members' names in messages, such as `query.`. */
  readonly prefix: string;
  readonly offset: number;
}

/** How long a continuation can be used, in milliseconds. */
const lifeMs = 3_600_000;

/** Limits of the number and the bytes of continuations, of a team and of all teams. */
const ofTeamMax = 1000;
const allMax = 10_000;
const bytesOfTeamMax = 4 * 1024 * 1024;
const bytesOfAllMax = 24 * 1024 * 1024;

/** The bytes of a continuation in addition to the text of its query. */
const bytesBeside = 1024;

/** The bytes of a UTF-16 code unit, for texts that are not Latin-1. */
const bytesOfUnit = 2;

type OfTeam = LRUCache<string, Continuation>;

export class Continuations {
  readonly #teams = new Map<string, OfTeam>();

  /** An upper bound of the bytes of all continuations. */
  get bytes(): number {
    return this.#teams.values().reduce((sum, ofTeam) => sum + ofTeam.calculatedSize, 0);
  }

  /** Keeps a continuation, and its hold on the copy, until it expires. Returns its ID. */
  keep(continuation: Continuation): string {
    const { teamId } = continuation.asker;
    let ofTeam = this.#teams.get(teamId);
    if (ofTeam === undefined) {
      ofTeam = new LRUCache({
        // Not `max`, which would allocate memory for the maximum number at once.
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

  /** Finds a continuation. It is kept, because its page may be requested again. */
  get(teamId: string, id: string): Continuation | undefined {
    return this.#teams.get(teamId)?.get(id);
  }

  /** Removes expired continuations, and releases their copies. */
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

  /** Removes continuations of the teams with the most, until the sum of `measure` is at most `max`. */
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
