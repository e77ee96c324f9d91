/**
 * What teams have done in the last hour, minute by minute, as far as this process has seen it: in memory, of the teams
 * that were active last.
 */
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** How many minutes are kept, and of how many teams: about 5 MB. */
const minutesKept = 60;
const teamsMax = 1000;
const minuteMs = 60_000;

/** What is counted. Requests by the class of their status; `cutOff`: the connection was cut before the answer ended. */
const activityCounts = [
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  'cutOff',
  'rowsWritten',
  'rowsRead',
  'bytesReceived',
  'bytesSent',
] as const;
type ActivityCount = (typeof activityCounts)[number];

/** A minute of a team. */
export type ActiveMinute = Readonly<Record<ActivityCount, number>> & {
  /** When it began, in milliseconds since 1970. */
  readonly start: number;
};

/** A ring of minutes: the counts of each, one after the other, and which minute since 1970 each place holds. */
interface Ring {
  readonly counts: Float64Array;
  readonly minutes: Int32Array;
}

export class TeamActivity {
  /** Since when it counts, in milliseconds since 1970. */
  readonly since: number;
  readonly #now: () => number;
  readonly #teams = new LRUCache<string, Ring>({ max: teamsMax });
  /** What was counted of the bytes of each connection. */
  readonly #counted = new WeakMap<Socket, { read: number; written: number }>();

  /** `now`: milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.since = now();
  }

  /**
   * The answer to a request has ended. `teamId`: null if it had no valid token; `status`: null if the connection was
   * cut.
   */
  requestEnded(teamId: string | null, status: number | null, socket: Socket): void {
    const counted = this.#counted.get(socket) ?? { read: 0, written: 0 };
    const { bytesRead: read, bytesWritten: written } = socket;
    this.#counted.set(socket, { read, written });
    if (teamId === null) return;
    const name = status === null ? 'cutOff' : (`${Math.floor(status / 100)}xx` as ActivityCount);
    this.#add(teamId, [
      [name, 1],
      ['bytesReceived', read - counted.read],
      ['bytesSent', written - counted.written],
    ]);
  }

  rowsWritten(teamId: string, rows: number): void {
    this.#add(teamId, [['rowsWritten', rows]]);
  }

  rowsRead(teamId: string, rows: number): void {
    this.#add(teamId, [['rowsRead', rows]]);
  }

  /** The minutes of the last hour since this process began, the present one last. */
  minutesOf(teamId: string): ActiveMinute[] {
    const last = this.#minute();
    const first = Math.max(last - minutesKept + 1, Math.floor(this.since / minuteMs));
    const ring = this.#teams.peek(teamId);
    return Array.from({ length: last - first + 1 }, (_, at) => {
      const minute = first + at;
      const place = minute % minutesKept;
      const isKept = ring?.minutes[place] === minute;
      const counts = activityCounts.map((name, n) => [
        name,
        isKept ? ring.counts[place * activityCounts.length + n]! : 0,
      ]);
      return { ...(Object.fromEntries(counts) as Record<ActivityCount, number>), start: minute * minuteMs };
    });
  }

  #add(teamId: string, added: readonly (readonly [name: ActivityCount, units: number])[]): void {
    const minute = this.#minute();
    const place = minute % minutesKept;
    const { counts, minutes } = this.#ringOf(teamId);
    const from = place * activityCounts.length;
    if (minutes[place] !== minute) {
      minutes[place] = minute;
      counts.fill(0, from, from + activityCounts.length);
    }
    for (const [name, units] of added) counts[from + activityCounts.indexOf(name)]! += units;
  }

  #ringOf(teamId: string): Ring {
    const known = this.#teams.get(teamId);
    if (known !== undefined) return known;
    const ring = {
      counts: new Float64Array(minutesKept * activityCounts.length),
      minutes: new Int32Array(minutesKept),
    };
    this.#teams.set(teamId, ring);
    return ring;
  }

  #minute(): number {
    return Math.floor(this.#now() / minuteMs);
  }
}
