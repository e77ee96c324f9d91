/**
 * The activity of teams in this process in the last hour, by minute. It is in memory, for the most recently active
 * teams.
 */
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';

/** How many minutes are kept, and for how many teams. This takes about 5 MB. */
const minutesKept = 60;
const teamsMax = 1000;
const minuteMs = 60_000;

/**
 * The counts. Requests are counted by the class of their status; `cutOff`: the connection ended before the answer did.
 */
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
  /** The beginning of the minute, in milliseconds since 1970. */
  readonly start: number;
};

/**
 * A ring of minutes. `counts` has the counts of each minute, one after the other; `minutes` has the minute since 1970
 * of each place.
 */
interface Ring {
  readonly counts: Float64Array;
  readonly minutes: Int32Array;
}

export class TeamActivity {
  /** When counting began, in milliseconds since 1970. */
  readonly since: number;
  readonly #now: () => number;
  readonly #teams = new LRUCache<string, Ring>({ max: teamsMax });
  /** The bytes of each connection that were counted already. */
  readonly #counted = new WeakMap<Socket, { read: number; written: number }>();

  /** `now` returns milliseconds since 1970. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
    this.since = now();
  }

  /**
   * Counts a request whose answer has ended. `teamId` is null if the request had no valid token. `status` is null if
   * the connection ended first.
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

  /** The minutes of the last hour in which this process ran. The present minute is the last one. */
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
